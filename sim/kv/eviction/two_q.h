// 2q: new blocks pass through A1in, a queue in order of entry that hits do not change; those that come back after they
// left it (their key is in the ghost queue A1out, and leaves it) enter Am, which is in order of last use.
//   evict   from A1in if it holds more than floor(capacity / 4) blocks, its key into A1out; else from Am, without a
//   ghost
//           (from the other one where the chosen one has none to give)
//   A1out   floor(capacity / 2) keys, first in first out
// Source: Johnson & Shasha, VLDB 1994, "full version", with the paper's Kin = 25 % and Kout = 50 %.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/kv/eviction/ghost_queue.h"
#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_lists.h"

namespace blockyard::kv {

class TwoQ final : public PolicyDefaults {
 public:
  explicit TwoQ(const PolicyOptions& options)
      : in_limit_(options.capacity / 4),
        order_(options.slots, 2),
        states_(static_cast<std::size_t>(options.slots)),
        out_(options.capacity / 2) {}

  void missed(const Reference& r) { was_ghost_ = out_.remove(r.key).has_value(); }
  void insert(BlockId slot, const Reference& r) {
    states_[slot] = {r.key, was_ghost_ ? kMain : kIn, true};
    if (!was_ghost_) {
      ++in_;
      order_.push_youngest(kIn, slot);
    }
    was_ghost_ = false;
  }
  void hit(BlockId /*slot*/, const Reference& /*r*/) {}
  void hold(BlockId slot) {
    states_[slot].held = true;
    if (states_[slot].queue == kMain) order_.remove(slot);
  }
  void let_go(BlockId slot) {
    states_[slot].held = false;
    if (!order_.linked(slot)) order_.push_youngest(states_[slot].queue, slot);
  }
  BlockId evict() {
    if (in_ > in_limit_) {
      const BlockId slot = from_in();
      return slot != kNoBlock ? slot : from_main();
    }
    const BlockId slot = from_main();
    return slot != kNoBlock ? slot : from_in();
  }

 private:
  static constexpr std::uint8_t kIn = 0;
  static constexpr std::uint8_t kMain = 1;
  struct State {
    std::uint64_t key = kNoKey;
    std::uint8_t queue = kIn;
    bool held = false;
  };

  BlockId from_in() {
    while (!order_.empty(kIn)) {
      const BlockId slot = order_.oldest(kIn);
      order_.remove(slot);
      if (states_[slot].held) continue;
      --in_;
      out_.push(states_[slot].key);
      return slot;
    }
    return kNoBlock;
  }
  BlockId from_main() {
    if (order_.empty(kMain)) return kNoBlock;
    const BlockId slot = order_.oldest(kMain);
    order_.remove(slot);
    return slot;
  }

  std::int64_t in_limit_;
  SlotLists order_;
  std::vector<State> states_;
  GhostQueue out_;
  std::int64_t in_ = 0;  // blocks of A1in, held ones included
  bool was_ghost_ = false;
};

}  // namespace blockyard::kv
