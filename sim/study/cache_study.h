// Policies and capacities against one trace, without time: exact counts, or estimates from samples.
//
// A sample holds the contents that a hash picks, about `share` of all, against a cache of that share of the capacity
// (SHARDS, Waldspurger et al., FAST 2015). The difference between the policy and lru on the same sample, scaled up, is
// added to what lru is known to hit from one pass, so that what both have in common adds no error. Four samples, picked
// by different hashes, give the mean and its standard error. Law: the results do not depend on `jobs`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/kv/cache/cache_run.h"
#include "sim/kv/cache/reuse_distance.h"
#include "sim/kv/eviction/keeping.h"

namespace blockyard::study {

inline constexpr std::uint64_t kSamples = 4;

struct CacheStudy {
  std::vector<const kv::EvictionRow*> policies;
  std::vector<std::int64_t>
      capacities;               // blocks; the trace's number of contents and more = nothing is ever evicted for room
  kv::CacheRunOptions options;  // but for the capacity
  kv::KeepingRules rules;
  std::optional<double> sample_share;  // none = exact
  std::size_t jobs = 1;
};

struct CacheResult {
  const kv::EvictionRow* policy = nullptr;
  std::int64_t capacity = 0;
  kv::CacheCounts counts;
  std::optional<double> standard_error_blocks;  // of hit_blocks, of a sampled result
};

// Policy by policy, in the order given, its capacities in the order given.
[[nodiscard]] std::vector<CacheResult> run_cache_study(const kv::ReferenceString& references,
                                                       const kv::ReuseDistances& lru, const CacheStudy& study);

// How much of what prompts say was said before, by place in the prompt: the first block, the next two, the next four,
// ...
struct SharedAtDepth {
  std::int64_t first_block = 0;
  std::int64_t end_block = 0;  // one past the last
  std::int64_t prompts = 0;    // that reach first_block
  std::int64_t tokens = 0;
  std::int64_t shared_tokens = 0;  // found if nothing is ever evicted
};
[[nodiscard]] std::vector<SharedAtDepth> shared_by_depth(const kv::ReferenceString& references);

}  // namespace blockyard::study
