// The free regions of an arena, by address: a treap in which every node knows the largest region below it, so that the
// lowest one that is large enough is found without a walk. Neighbours that touch are one. Law: free() == the sum of
// the regions' sizes; no two touch. Cost: O(log n) a call in the number n of free regions, largest() and free() O(1);
// nothing is allocated once as many regions have been free as ever will be. Priorities are a hash of the address, so
// that the shape depends on the content alone. Source: Seidel & Aragon, Algorithmica 1996.
#pragma once

#include <cstdint>
#include <functional>
#include <memory_resource>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/base/quantities.h"
#include "sim/kv/placement/placement.h"

namespace blockyard::kv {

class FreeRegions {
 public:
  // `by_size`: smallest_of works.
  FreeRegions(Tokens capacity, bool by_size);

  // [start, start + size) becomes free; it was not, as far as it overlaps a free region (a broken law otherwise).
  void add(Region region);
  // [start, start + size) is free no more; it was, as a whole.
  void take(Region region);
  // Only [start, capacity) is free.
  void reset(std::int64_t start);

  // The lowest region from address `from` on with at least `slots`.
  [[nodiscard]] std::optional<Region> first_of(std::int64_t from, Tokens slots) const;
  // The smallest region with at least `slots`, of equal ones the lowest.
  [[nodiscard]] std::optional<Region> smallest_of(Tokens slots) const;
  [[nodiscard]] Tokens free() const { return free_; }
  [[nodiscard]] Tokens largest() const { return Tokens(largest_of(root_)); }

 private:
  using Index = std::int32_t;  // of a node, kNone = none
  static constexpr Index kNone = -1;
  struct Node {
    std::int64_t start = 0;
    std::int64_t size = 0;
    std::int64_t largest = 0;  // in the node's subtree
    std::uint64_t priority = 0;
    Index left = kNone;
    Index right = kNone;
  };

  [[nodiscard]] std::int64_t largest_of(Index node) const {
    return node == kNone ? 0 : nodes_[static_cast<std::size_t>(node)].largest;
  }
  Node& at(Index node) { return nodes_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] const Node& at(Index node) const { return nodes_[static_cast<std::size_t>(node)]; }
  void update(Index node);
  // Regions that begin below `start` go left, the others right.
  std::pair<Index, Index> split(Index node, std::int64_t start);
  Index join(Index left, Index right);
  void insert(std::int64_t start, std::int64_t size);
  void erase(std::int64_t start);
  // The last region that begins at or below `address`, if any.
  [[nodiscard]] std::optional<Region> at_or_below(std::int64_t address) const;
  [[nodiscard]] Index first_in(Index node, std::int64_t from, std::int64_t slots) const;

  Tokens capacity_;
  Tokens free_;
  bool by_size_;
  std::vector<Node> nodes_;
  std::vector<Index> unused_;
  Index root_ = kNone;
  std::pmr::unsynchronized_pool_resource pool_;                         // keeps the nodes of `sizes_` for the next ones
  std::pmr::set<std::pair<std::int64_t, std::int64_t>> sizes_{&pool_};  // (size, start)
};

}  // namespace blockyard::kv
