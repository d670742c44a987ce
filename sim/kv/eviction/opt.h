// opt: the block that is asked for again furthest in the future; of equal ones the deepest. It has to be told the
// future (Reference::next_use): the cache alone knows it, a timed run uses the sequence recorded from a run with lru.
// A block is never asked for without all before it, so that this choice is always a leaf of what is cached and the
// cache stays closed under prefixes. Where nothing is pinned it is optimal in hit blocks: tests/kv/opt_test.cc searches
// exhaustively. Source: Belady, IBM Systems Journal 1966; Mattson et al. 1970. O(log n).
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_heap.h"

namespace blockyard::kv {

class Opt final : public PolicyDefaults {
 public:
  static constexpr bool kInclusive = true;
  static constexpr bool kNeedsFuture = true;
  explicit Opt(const PolicyOptions& options) : heap_(options.slots), states_(static_cast<std::size_t>(options.slots)) {}

  void insert(BlockId slot, const Reference& r) { states_[slot] = {{-r.next_use, -std::int64_t{r.depth}}, true}; }
  void hit(BlockId slot, const Reference& r) { states_[slot].key = {-r.next_use, -std::int64_t{r.depth}}; }
  void hold(BlockId slot) { states_[slot].held = true; }
  void let_go(BlockId slot) {
    states_[slot].held = false;
    heap_.set(slot, states_[slot].key);
  }
  BlockId evict() {
    while (!heap_.empty()) {
      const BlockId slot = heap_.top();
      heap_.remove(slot);
      if (!states_[slot].held) return slot;
    }
    return kNoBlock;
  }

 private:
  struct Key {
    std::int64_t minus_next_use = 0;
    std::int64_t minus_depth = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct State {
    Key key;
    bool held = false;
  };
  SlotHeap<Key> heap_;
  std::vector<State> states_;
};

}  // namespace blockyard::kv
