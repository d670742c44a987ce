// Binary buddies: regions are powers of two; a free region is halved until it fits and joins its buddy again when both
// are free. The arena need not be a power of two: it is a row of descending powers of two (15,728 = 8192 + 4096 + 2048
// + 1024 + 256 + 64 + 32 + 16), each aligned to its own size, so that a buddy's address is start XOR size throughout.
// Of the smallest sufficient free regions the lowest address is taken. Compaction places all regions anew, the largest
// first, which leaves the fewest holes that powers of two can leave. Cost: O(log capacity) orders, each an ordered set.
// Source: Knowlton, CACM 1965; used for the Orca baselines of Kwon et al., SOSP 2023, sec. 6.1.
#pragma once

#include <memory_resource>
#include <set>
#include <vector>

#include "sim/kv/placement/placement.h"

namespace blockyard::kv {

class Buddy final : public Placement {
 public:
  explicit Buddy(Tokens capacity);

  std::optional<Region> place(Tokens slots) override;
  void remove(Region region) override;
  void restore(Region region) override;
  bool compact(std::span<Region> regions, Tokens wanted) override;
  [[nodiscard]] Tokens rounded(Tokens slots) const override;
  [[nodiscard]] Tokens free() const override { return free_; }
  [[nodiscard]] Tokens largest_free() const override;
  [[nodiscard]] Tokens largest_ever() const override { return largest_ever_; }

 private:
  static constexpr std::size_t kOrders = 63;

  using Holes = std::pmr::set<std::int64_t>;

  void empty_arena();
  [[nodiscard]] bool within_one_tree(std::int64_t start, std::int64_t size) const;

  Tokens capacity_;
  Tokens free_;
  Tokens largest_ever_;
  std::pmr::unsynchronized_pool_resource pool_;  // keeps the nodes of the sets for the next ones
  std::vector<Holes> holes_;                     // by order: starts of the free regions of 2^order slots
};

}  // namespace blockyard::kv
