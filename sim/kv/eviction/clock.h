// clock: a queue in order of entry; the oldest block goes, unless it was asked for since the hand last passed: then its
// bit is cleared and it enters again as the youngest. One bit, clear at entry. Source: Corbato, MIT Project MAC 1968
// ("second chance").
#pragma once

#include <cstdint>
#include <vector>

#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_lists.h"

namespace blockyard::kv {

class Clock final : public PolicyDefaults {
 public:
  explicit Clock(const PolicyOptions& options)
      : order_(options.slots, 1), states_(static_cast<std::size_t>(options.slots)) {}

  void insert(BlockId slot, const Reference& /*r*/) {
    states_[slot] = {false, true};
    order_.push_youngest(0, slot);
  }
  void hit(BlockId slot, const Reference& /*r*/) { states_[slot].referenced = true; }
  void hold(BlockId slot) { states_[slot].held = true; }
  void let_go(BlockId slot) {
    states_[slot].held = false;
    if (!order_.linked(slot)) order_.push_youngest(0, slot);
  }
  BlockId evict() {
    while (!order_.empty(0)) {
      const BlockId slot = order_.oldest(0);
      order_.remove(slot);
      State& state = states_[slot];
      if (state.held) continue;
      if (!state.referenced) return slot;
      state.referenced = false;
      order_.push_youngest(0, slot);
    }
    return kNoBlock;
  }

 private:
  struct State {
    bool referenced = false;
    bool held = false;
  };
  SlotLists order_;
  std::vector<State> states_;
};

}  // namespace blockyard::kv
