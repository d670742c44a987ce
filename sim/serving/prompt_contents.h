// What every request says, put together for the prefix cache:
//   ids of blocks       where the trace has them, they name the prompt's blocks
//   a session           otherwise, the prompt begins with all that its session has said before (prompts and answers),
//                       as far as it reaches, and at most reused_tokens of it
//   a shared beginning  otherwise, its first prefix_tokens tokens are those of every request with this prefix
// All other tokens, and the answer, are the request's own. A salt makes prompts of different salts differ from their
// first token on, whatever they say (vLLM's cache_salt). Law: content_of() spells prompt + output tokens. Requests are
// told in order of arrival, rejected ones too. O(runs) a request.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/base/content.h"
#include "sim/kv/content.h"
#include "sim/workload/content_store.h"
#include "sim/workload/request.h"

namespace blockyard::serving {

enum class CacheSalt { none, tenant, request };

class PromptContents final : public kv::ContentSource {
 public:
  explicit PromptContents(CacheSalt salt = CacheSalt::none) : salt_(salt) {}

  [[nodiscard]] workload::ContentStore& store() { return store_; }

  void arrived(RequestId id, const workload::Request& request, Tokens output);
  // Nothing will be asked of the request any more.
  void ended(RequestId id);
  void content_of(RequestId request, Content& out) override;
  [[nodiscard]] kv::ContentOrigin origin_of(RequestId request) const override {
    return entries_[index_of(request)].origin;
  }

  // What a request said before the first one arrived, and is never asked for again; `number` tells such requests apart.
  void said_before(std::uint32_t number, const workload::Request& request, Content& out);
  [[nodiscard]] static kv::ContentOrigin origin(const workload::Request& request) {
    return {request.session, request.category != 0 ? request.category : request.tenant, request.tenant};
  }

 private:
  struct Entry {
    workload::ContentId content = workload::ContentId::none;
    std::int32_t shared = 0;  // tokens of `content` or of the prefix at the prompt's start
    std::uint32_t prefix = 0;
    std::int64_t total = 0;  // prompt + output
    kv::ContentOrigin origin;
  };

  // `own`: whose own tokens it says.
  Entry enter(RequestId own, const workload::Request& request, Tokens output);
  void spell(RequestId own, const Entry& entry, Content& out) const;

  CacheSalt salt_;
  workload::ContentStore store_;
  std::vector<Entry> entries_;                       // by request
  std::unordered_map<std::uint32_t, Content> said_;  // by session: all that it has said
};

}  // namespace blockyard::serving
