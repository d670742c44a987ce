// sieve: a queue in order of entry that is never reordered; a hand moves from the oldest to the youngest and round
// again, clears the bit of blocks that were asked for and takes the first without. The hand stays where it took one.
// Bit clear at entry. Source: Zhang et al., "SIEVE is simpler than LRU", NSDI 2024, algorithm 1.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_lists.h"

namespace blockyard::kv {

class Sieve final : public PolicyDefaults {
 public:
  explicit Sieve(const PolicyOptions& options)
      : order_(options.slots, 1), states_(static_cast<std::size_t>(options.slots)), hand_(order_.end(0)) {}

  void insert(BlockId slot, const Reference& /*r*/) {
    states_[slot] = {false, true};
    order_.push_youngest(0, slot);
  }
  void hit(BlockId slot, const Reference& /*r*/) { states_[slot].visited = true; }
  void hold(BlockId slot) { states_[slot].held = true; }
  void let_go(BlockId slot) {
    states_[slot].held = false;
    if (!order_.linked(slot)) order_.push_youngest(0, slot);
  }
  BlockId evict() {
    while (!order_.empty(0)) {
      const BlockId slot = hand_ == order_.end(0) ? order_.oldest(0) : hand_;
      hand_ = order_.younger(slot);
      State& state = states_[slot];
      if (state.held) {
        order_.remove(slot);
      } else if (state.visited) {
        state.visited = false;
      } else {
        order_.remove(slot);
        return slot;
      }
    }
    return kNoBlock;
  }

 private:
  struct State {
    bool visited = false;
    bool held = false;
  };
  SlotLists order_;
  std::vector<State> states_;
  BlockId hand_;  // the next to look at; the end mark = the oldest
};

}  // namespace blockyard::kv
