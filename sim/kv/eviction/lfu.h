// lfu: the least often asked for since it entered, with ageing: a block's key is its count (1 at entry) plus the age of
// the cache when it was last asked for; the smallest key goes, of equal ones the least recently used, and the age
// becomes the evicted key. Source: LFU with dynamic ageing, Arlitt et al., ACM SIGMETRICS Performance Evaluation Review
// 2000. O(log n).
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_heap.h"

namespace blockyard::kv {

class Lfu final : public PolicyDefaults {
 public:
  explicit Lfu(const PolicyOptions& options) : heap_(options.slots), states_(static_cast<std::size_t>(options.slots)) {}

  void insert(BlockId slot, const Reference& /*r*/) { states_[slot] = {1, 1 + age_, true}; }
  void hit(BlockId slot, const Reference& /*r*/) {
    State& state = states_[slot];
    state.key = ++state.count + age_;
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
    std::uint64_t key = 0;
    std::uint64_t used = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct State {
    std::uint64_t count = 0;
    std::uint64_t key = 0;
    bool held = false;
  };
  SlotHeap<Key> heap_;
  std::vector<State> states_;
  std::uint64_t age_ = 0;
  std::uint64_t clock_ = 0;
};

}  // namespace blockyard::kv
