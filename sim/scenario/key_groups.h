// What the pieces of the scenario's table of keys share.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/scenario_keys.h"
#include "sim/scenario/schema.h"

namespace blockyard::scenario {

using Keys = std::vector<Key>;

// More requests or tokens than this are a slip of the keyboard, and would overflow sums of sums.
inline constexpr double kMostCounted = 1e9;
inline constexpr Limits kAtLeastOne = between(1, kMostCounted);

inline NameDocs with_first(NameDoc first, const NameDocs& rest) {
  NameDocs words{std::move(first)};
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}

inline void append(Keys& keys, Keys more) {
  for (Key& key : more) keys.push_back(std::move(key));
}

// The keys of the `workload` section.
[[nodiscard]] Keys workload_keys(const Vocabulary& names);
// Those of `kv_cache`, `preemption` and `admission`.
[[nodiscard]] Keys memory_keys(const Vocabulary& names);
// Those of `prefix_cache`, and of its tiers below the GPU.
[[nodiscard]] Keys prefix_cache_keys(const Vocabulary& names);
[[nodiscard]] Keys tier_keys(const Vocabulary& names);
// Those of `slo`.
[[nodiscard]] Keys slo_keys();

}  // namespace blockyard::scenario
