// w_tinylfu: new blocks enter a window in order of last use, max(1, floor(capacity / 100)) blocks; what it pushes out
// competes with the main part's next victim, and the one asked for more often lately, by a sketch of all keys asked for
// (frequency_sketch.h), stays; on a draw the newcomer goes. The main part is an slru: probation, and a protected
// segment of at most 4/5 of it. Source: Einziger, Friedman & Manes, ACM Transactions on Storage 2017, with its 1 %
// window and 20:80 main part.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/kv/eviction/frequency_sketch.h"
#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_lists.h"

namespace blockyard::kv {

class WTinyLfu final : public PolicyDefaults {
 public:
  explicit WTinyLfu(const PolicyOptions& options)
      : window_limit_(std::max<std::int64_t>(1, options.capacity / 100)),
        protected_limit_((options.capacity - window_limit_) * 4 / 5),
        order_(options.slots, 3),
        states_(static_cast<std::size_t>(options.slots)),
        sketch_(options.capacity) {}

  void missed(const Reference& r) { sketch_.add(r.key); }
  void insert(BlockId slot, const Reference& r) {
    states_[slot] = {r.key, kWindow};
    ++members_[kWindow];
    // What the window pushes out has a place in the main part without contest as long as there is room.
    while (members_[kWindow] > window_limit_ && !order_.empty(kWindow)) move(order_.oldest(kWindow), kProbation);
  }
  void hit(BlockId slot, const Reference& r) {
    sketch_.add(r.key);
    if (states_[slot].segment != kProbation) return;
    --members_[kProbation];
    states_[slot].segment = kProtected;
    ++members_[kProtected];
  }
  void hold(BlockId slot) { order_.remove(slot); }
  void let_go(BlockId slot) {
    order_.push_youngest(states_[slot].segment, slot);
    while (members_[kProtected] > protected_limit_ && !order_.empty(kProtected)) {
      move(order_.oldest(kProtected), kProbation);
    }
  }
  // Room is made for a newcomer: a full window's oldest has to leave it.
  BlockId evict() {
    BlockId victim = !order_.empty(kProbation)   ? order_.oldest(kProbation)
                     : !order_.empty(kProtected) ? order_.oldest(kProtected)
                                                 : kNoBlock;
    if (!order_.empty(kWindow) && (victim == kNoBlock || members_[kWindow] >= window_limit_)) {
      const BlockId candidate = order_.oldest(kWindow);
      if (victim == kNoBlock || sketch_.count(states_[candidate].key) <= sketch_.count(states_[victim].key)) {
        victim = candidate;
      } else {
        move(candidate, kProbation);
      }
    }
    if (victim == kNoBlock) return kNoBlock;
    order_.remove(victim);
    --members_[states_[victim].segment];
    return victim;
  }

 private:
  static constexpr std::uint8_t kWindow = 0;
  static constexpr std::uint8_t kProbation = 1;
  static constexpr std::uint8_t kProtected = 2;
  struct State {
    std::uint64_t key = kNoKey;
    std::uint8_t segment = kWindow;
  };

  void move(BlockId slot, std::uint8_t to) {
    order_.remove(slot);
    --members_[states_[slot].segment];
    states_[slot].segment = to;
    ++members_[to];
    order_.push_youngest(to, slot);
  }

  std::int64_t window_limit_;
  std::int64_t protected_limit_;
  SlotLists order_;
  std::vector<State> states_;
  FrequencySketch sketch_;
  std::int64_t members_[3] = {0, 0, 0};  // held ones included
};

}  // namespace blockyard::kv
