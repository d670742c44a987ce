// How much the prompts of a trace repeat, and what a prefix cache could win from it at best.
// Ideal: a cache that holds everything, each prompt being there when the next one comes. A prompt's hit is, by what the
// trace tells of it (the first of these that it has):
//   ids of blocks       its leading ids that occurred before. `hit_tokens` counts all ids, min(block * hits, prompt);
//                       `engine_hit_tokens` as engines do, which cache full blocks only and always compute the last
//                       token: it looks up the first floor((prompt - 1) / block) ids and keeps floor(prompt / block)
//   a session           what its session has said before, at most reused_tokens of it
//   a shared beginning  its first prefix_tokens, if a prompt with this prefix was at least as long
// Shares are of all prompt tokens. Memory: a byte for each distinct id, a few words for each session and prefix.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/workload/content_store.h"
#include "sim/workload/request.h"

namespace blockyard::workload {

struct PrefixStatistics {
  std::int64_t ids = 0;  // of prompt blocks, all together
  std::int64_t distinct_ids = 0;
  std::int64_t longest_ids = 0;  // of one prompt
  std::int64_t roots = 0;        // distinct first ids
  std::int64_t hit_ids = 0;
  std::int64_t engine_hit_ids = 0;
  Tokens prompt_tokens;
  Tokens hit_tokens;
  Tokens engine_hit_tokens;
  std::int64_t repeating = 0;  // prompts of which something was there

  std::int64_t sessions = 0;
  std::int64_t requests_in_sessions = 0;
  std::int64_t longest_session = 0;  // requests
  std::int64_t shared_prefixes = 0;

  // Whether anything says what prompts share.
  [[nodiscard]] bool tells() const { return ids > 0 || sessions > 0 || shared_prefixes > 0; }
  [[nodiscard]] double hit_share() const { return share(hit_tokens); }
  [[nodiscard]] double engine_hit_share() const { return share(engine_hit_tokens); }

 private:
  [[nodiscard]] double share(Tokens tokens) const {
    return prompt_tokens == Tokens(0)
               ? 0
               : static_cast<double>(tokens.count()) / static_cast<double>(prompt_tokens.count());
  }
};

class PrefixMeter {
 public:
  // `block`: tokens an id stands for, in the contents of the requests; may be set any time before the first of them.
  void set_block(Tokens block) { block_ = block; }
  // In order of arrival, before the contents are dropped.
  void add(std::span<const Request> requests, const ContentStore& contents);
  [[nodiscard]] PrefixStatistics statistics() const;

 private:
  struct Session {
    std::int64_t requests = 0;
    std::int64_t said = 0;  // tokens
  };

  // Which ids were seen: bit 1 as any block, bit 2 as a full one.
  std::uint8_t& seen(std::int64_t id);
  void add_ids(const Request& request, const Content& content);
  void add_hit(std::int64_t tokens);

  Tokens block_{512};
  PrefixStatistics sums_;
  std::vector<std::int64_t> ids_;  // of one prompt
  std::vector<std::uint8_t> dense_;
  std::map<std::int64_t, std::uint8_t> sparse_;
  std::unordered_map<std::uint32_t, Session> sessions_;
  std::unordered_map<std::uint32_t, std::int64_t> prefixes_;  // the longest prompt seen of each
};

// The ids of a content that ContentStore::add made of ids of `block` tokens.
void append_ids(const Content& content, Tokens block, std::vector<std::int64_t>& ids);

}  // namespace blockyard::workload
