// lru_k: the block whose last but one use lies furthest back; blocks used once come first, of those the least recently
// used. K = 2, no correlated reference period; the last use of evicted blocks is remembered for the latest `capacity`
// of them (the paper's retained information). Time is counted in blocks asked for. Source: O'Neil, O'Neil & Weikum,
// SIGMOD 1993. O(log n).
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "sim/kv/eviction/ghost_queue.h"
#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_heap.h"

namespace blockyard::kv {

class LruK final : public PolicyDefaults {
 public:
  explicit LruK(const PolicyOptions& options)
      : heap_(options.slots), states_(static_cast<std::size_t>(options.slots)), gone_(options.capacity) {}

  void missed(const Reference& r) { last_before_ = gone_.remove(r.key).value_or(0); }
  void insert(BlockId slot, const Reference& r) {
    states_[slot] = {r.key, {last_before_, ++clock_}, true};
    last_before_ = 0;
  }
  void hit(BlockId slot, const Reference& /*r*/) {
    Uses& uses = states_[slot].uses;
    uses = {uses.last, ++clock_};
  }
  void hold(BlockId slot) { states_[slot].held = true; }
  void let_go(BlockId slot) {
    states_[slot].held = false;
    heap_.set(slot, states_[slot].uses);
  }
  BlockId evict() {
    while (!heap_.empty()) {
      const BlockId slot = heap_.top();
      heap_.remove(slot);
      if (states_[slot].held) continue;
      gone_.push(states_[slot].key, states_[slot].uses.last);
      return slot;
    }
    return kNoBlock;
  }

 private:
  struct Uses {
    std::int64_t last_but_one = 0;  // 0 = never
    std::int64_t last = 0;
    auto operator<=>(const Uses&) const = default;
  };
  struct State {
    std::uint64_t key = kNoKey;
    Uses uses;
    bool held = false;
  };
  SlotHeap<Uses> heap_;
  std::vector<State> states_;
  GhostQueue gone_;
  std::int64_t last_before_ = 0;
  std::int64_t clock_ = 0;
};

}  // namespace blockyard::kv
