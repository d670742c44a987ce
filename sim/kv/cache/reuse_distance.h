// The miss-ratio curve of lru over all capacities, from one pass: a block's reuse distance is the number of different
// blocks asked for since it was asked for last, itself included, and a cache with lru holds it exactly if its capacity
// is at least that. A request's blocks count as asked for one after another, the deepest first. A leading block is a
// hit only where all before it are: its distance is the largest up to it. Exact: hit_blocks(c) is what a run of the
// cache with capacity c counts. Cost: O(log n) a block; memory O(blocks). Source: Mattson et al., IBM Systems Journal
// 1970; Olken, LBL-12370, 1981.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/kv/cache/reference_string.h"

namespace blockyard::kv {

class ReuseDistances {
 public:
  explicit ReuseDistances(const ReferenceString& references);

  // With a cache of so many blocks.
  [[nodiscard]] std::int64_t hit_blocks(std::int64_t capacity) const { return at(blocks_, capacity); }
  [[nodiscard]] std::int64_t hit_tokens(std::int64_t capacity) const { return at(tokens_, capacity); }
  [[nodiscard]] std::int64_t hit_requests(std::int64_t capacity) const { return at(requests_, capacity); }
  // With a cache that never evicts.
  [[nodiscard]] std::int64_t reused_blocks() const { return blocks_.back(); }
  [[nodiscard]] std::int64_t reused_tokens() const { return tokens_.back(); }
  [[nodiscard]] std::int64_t reused_requests() const { return requests_.back(); }
  // The smallest capacity with the hits of one that never evicts.
  [[nodiscard]] std::int64_t largest() const { return static_cast<std::int64_t>(blocks_.size()) - 1; }
  // The distance that `share` of the reused blocks do not exceed; 0 if there are none.
  [[nodiscard]] std::int64_t quantile(double share) const;

 private:
  [[nodiscard]] static std::int64_t at(const std::vector<std::int64_t>& sums, std::int64_t capacity) {
    const auto last = static_cast<std::int64_t>(sums.size()) - 1;
    return sums[static_cast<std::size_t>(capacity < last ? capacity : last)];
  }

  // By distance: how many have this one or a smaller one.
  std::vector<std::int64_t> blocks_{0};
  std::vector<std::int64_t> tokens_{0};
  std::vector<std::int64_t> requests_{0};
};

}  // namespace blockyard::kv
