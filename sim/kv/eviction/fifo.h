// fifo: the block that entered first, however often it was asked for. Source: SGLang, mem_cache/evict_policy.py
// (creation time). Exact with owners too: a block that was held when its turn came is the next to go once it is let go,
// the eldest of several first; those wait in a heap, so that evict costs O(1) but for them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_heap.h"
#include "sim/kv/eviction/slot_lists.h"

namespace blockyard::kv {

class Fifo final : public PolicyDefaults {
 public:
  explicit Fifo(const PolicyOptions& options)
      : order_(options.slots, 1), overdue_(options.slots), states_(static_cast<std::size_t>(options.slots)) {}

  void insert(BlockId slot, const Reference& /*r*/) {
    states_[slot] = {entered_++, true};
    order_.push_youngest(0, slot);
  }
  void hit(BlockId /*slot*/, const Reference& /*r*/) {}
  void hold(BlockId slot) {
    states_[slot].held = true;
    if (overdue_.contains(slot)) overdue_.remove(slot);
  }
  void let_go(BlockId slot) {
    states_[slot].held = false;
    if (!order_.linked(slot)) overdue_.set(slot, states_[slot].entered);
  }
  BlockId evict() {
    if (!overdue_.empty()) {
      const BlockId slot = overdue_.top();
      overdue_.remove(slot);
      return slot;
    }
    while (!order_.empty(0)) {
      const BlockId slot = order_.oldest(0);
      order_.remove(slot);
      if (!states_[slot].held) return slot;
    }
    return kNoBlock;
  }

 private:
  struct State {
    std::uint64_t entered = 0;
    bool held = false;
  };
  SlotLists order_;
  SlotHeap<std::uint64_t> overdue_;
  std::vector<State> states_;
  std::uint64_t entered_ = 0;
};

}  // namespace blockyard::kv
