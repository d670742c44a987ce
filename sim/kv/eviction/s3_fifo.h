// s3_fifo: a small queue that new blocks pass through, a main queue, and a ghost queue of keys.
//   counts      2 bits a block, saturating at 3, 0 at entry into either queue
//   entry       into main if the key was in the ghost queue (it leaves it), else into small
//   evict       from small while it holds at least floor(capacity / 10) blocks (at least 1), else from main; from main
//   too
//               while small is empty
//   small       its oldest: asked for at least twice: to main; else out, its key into the ghost queue
//   main        its oldest: count > 0: in again as the youngest, with one less; else out
//   ghosts      as many keys as main has room for, capacity - small, first in first out
// Source: Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023, algorithm 1. Here each call gives
// up exactly one block: a promotion that overfills main does not evict from it at once, but makes main the next to give
// one up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/kv/eviction/ghost_queue.h"
#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_lists.h"

namespace blockyard::kv {

class S3Fifo final : public PolicyDefaults {
 public:
  explicit S3Fifo(const PolicyOptions& options)
      : small_limit_(std::max<std::int64_t>(1, options.capacity / 10)),
        order_(options.slots, 2),
        states_(static_cast<std::size_t>(options.slots)),
        ghosts_(std::max<std::int64_t>(0, options.capacity - small_limit_)) {}

  void missed(const Reference& r) { was_ghost_ = ghosts_.remove(r.key).has_value(); }
  void insert(BlockId slot, const Reference& r) {
    states_[slot] = {r.key, 0, was_ghost_ ? kMain : kSmall, true};
    ++members_[states_[slot].queue];
    order_.push_youngest(states_[slot].queue, slot);
    was_ghost_ = false;
  }
  void hit(BlockId slot, const Reference& /*r*/) {
    states_[slot].count = static_cast<std::uint8_t>(std::min(3, states_[slot].count + 1));
  }
  void hold(BlockId slot) { states_[slot].held = true; }
  void let_go(BlockId slot) {
    states_[slot].held = false;
    if (!order_.linked(slot)) order_.push_youngest(states_[slot].queue, slot);
  }
  BlockId evict() {
    for (;;) {
      const bool small_first = members_[kSmall] >= small_limit_;
      std::uint8_t queue = small_first ? kSmall : kMain;
      if (order_.empty(queue)) queue = small_first ? kMain : kSmall;
      if (order_.empty(queue)) return kNoBlock;
      const BlockId slot = queue == kSmall ? from_small() : from_main();
      if (slot != kNoBlock) return slot;
    }
  }

 private:
  static constexpr std::uint8_t kSmall = 0;
  static constexpr std::uint8_t kMain = 1;
  struct State {
    std::uint64_t key = kNoKey;
    std::uint8_t count = 0;
    std::uint8_t queue = kSmall;
    bool held = false;
  };

  // Goes on until a block leaves or the queue is through: promotions alone do not change the choice of the queue.
  BlockId from_small() {
    while (!order_.empty(kSmall)) {
      const BlockId slot = order_.oldest(kSmall);
      order_.remove(slot);
      State& state = states_[slot];
      if (state.held) continue;
      --members_[kSmall];
      if (state.count < 2) {
        ghosts_.push(state.key);
        return slot;
      }
      state.count = 0;
      state.queue = kMain;
      ++members_[kMain];
      order_.push_youngest(kMain, slot);
    }
    return kNoBlock;
  }
  BlockId from_main() {
    while (!order_.empty(kMain)) {
      const BlockId slot = order_.oldest(kMain);
      order_.remove(slot);
      State& state = states_[slot];
      if (state.held) continue;
      if (state.count == 0) {
        --members_[kMain];
        return slot;
      }
      --state.count;
      order_.push_youngest(kMain, slot);
    }
    return kNoBlock;
  }

  std::int64_t small_limit_;
  SlotLists order_;
  std::vector<State> states_;
  GhostQueue ghosts_;
  std::int64_t members_[2] = {0, 0};  // held ones included
  bool was_ghost_ = false;
};

}  // namespace blockyard::kv
