// gdsf: like lfu, but a count is worth what computing the block again would cost: key = age + count x cost / size,
// where all blocks are of one size and the cost is that at the block's depth (a block further from the beginning
// attends to more before it). The smallest key goes, of equal ones the least recently used; the age becomes the evicted
// key. Source: Cherkasova, HP Labs HPL-98-69R1, 1998. O(log n).
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_heap.h"

namespace blockyard::kv {

class Gdsf final : public PolicyDefaults {
 public:
  explicit Gdsf(const PolicyOptions& options)
      : heap_(options.slots), states_(static_cast<std::size_t>(options.slots)) {}

  void insert(BlockId slot, const Reference& r) { states_[slot] = {1, age_ + r.cost, true}; }
  void hit(BlockId slot, const Reference& r) {
    State& state = states_[slot];
    state.key = age_ + ++state.count * r.cost;
  }
  void hold(BlockId slot) { states_[slot].held = true; }
  void let_go(BlockId slot) {
    states_[slot].held = false;
    heap_.set(slot, {states_[slot].key, clock_++});
  }
  BlockId evict() {
    while (!heap_.empty()) {
      const BlockId slot = heap_.top();
      heap_.remove(slot);
      if (states_[slot].held) continue;
      age_ = states_[slot].key;
      return slot;
    }
    return kNoBlock;
  }

 private:
  struct Key {
    double key = 0;
    std::uint64_t used = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct State {
    double count = 0;
    double key = 0;
    bool held = false;
  };
  SlotHeap<Key> heap_;
  std::vector<State> states_;
  double age_ = 0;
  std::uint64_t clock_ = 0;
};

}  // namespace blockyard::kv
