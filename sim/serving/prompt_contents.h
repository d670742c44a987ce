// What every request says, put together for the prefix cache:
//   ids of blocks       where the trace has them, they name the prompt's blocks
//   a session           otherwise, the prompt begins with all that its session has said before (prompts and answers),
//                       as far as it reaches, and at most reused_tokens of it
//   a shared beginning  otherwise, its first prefix_tokens tokens are those of every request with this prefix
// All other tokens, and the answer, are the request's own. Law: content_of() spells prompt + output tokens.
// Requests are told in order of arrival, rejected ones too. O(runs) a request.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/base/content.h"
#include "sim/kv/content.h"
#include "sim/workload/content_store.h"
#include "sim/workload/request.h"

namespace blockyard::serving {

class PromptContents final : public kv::ContentSource {
 public:
  [[nodiscard]] workload::ContentStore& store() { return store_; }

  void arrived(RequestId id, const workload::Request& request, Tokens output);
  // Nothing will be asked of the request any more.
  void ended(RequestId id);
  void content_of(RequestId request, Content& out) override;
  // Requests are told apart by tenant.
  [[nodiscard]] kv::ContentOrigin origin_of(RequestId request) const override {
    return entries_[index_of(request)].origin;
  }

 private:
  struct Entry {
    workload::ContentId content = workload::ContentId::none;
    std::int32_t shared = 0;  // tokens of `content` or of the prefix at the prompt's start
    std::uint32_t prefix = 0;
    std::int64_t total = 0;  // prompt + output
    kv::ContentOrigin origin;
  };

  workload::ContentStore store_;
  std::vector<Entry> entries_;                       // by request
  std::unordered_map<std::uint32_t, Content> said_;  // by session: all that it has said
};

}  // namespace blockyard::serving
