// arc: T1 holds blocks asked for once, T2 those asked for again, both in order of last use; B1 and B2 are the keys that
// left them, and a hit in B1 (B2) raises (lowers) the target p of T1's size by max(1, |B2| / |B1|) (max(1, |B1| /
// |B2|)), p real, within [0, capacity]. T1 gives one up if it is larger than p, or as large and the block that comes in
// was in B2. Laws: |T1| + |B1| <= capacity; all four together <= 2 x capacity. Source: Megiddo & Modha, FAST 2003,
// figure 4.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/kv/eviction/ghost_queue.h"
#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_lists.h"

namespace blockyard::kv {

class Arc final : public PolicyDefaults {
 public:
  explicit Arc(const PolicyOptions& options)
      : capacity_(options.capacity),
        order_(options.slots, 2),
        states_(static_cast<std::size_t>(options.slots)),
        once_gone_(2 * options.capacity),
        again_gone_(2 * options.capacity) {}

  void missed(const Reference& r) {
    const double once = static_cast<double>(once_gone_.size());
    const double again = static_cast<double>(again_gone_.size());
    if (once_gone_.remove(r.key)) {
      comes_ = Comes::from_once;
      target_ = std::min(static_cast<double>(capacity_), target_ + std::max(1.0, again / once));
    } else if (again_gone_.remove(r.key)) {
      comes_ = Comes::from_again;
      target_ = std::max(0.0, target_ - std::max(1.0, once / again));
    } else {
      comes_ = Comes::unknown;
    }
  }
  void insert(BlockId slot, const Reference& r) {
    states_[slot] = {r.key, comes_ == Comes::unknown ? kOnce : kAgain};
    ++members_[states_[slot].list];
    comes_ = Comes::unknown;
  }
  void hit(BlockId slot, const Reference& /*r*/) {
    --members_[states_[slot].list];
    states_[slot].list = kAgain;
    ++members_[kAgain];
  }
  void hold(BlockId slot) { order_.remove(slot); }
  void let_go(BlockId slot) { order_.push_youngest(states_[slot].list, slot); }
  BlockId evict() {
    if (comes_ == Comes::unknown) {
      if (members_[kOnce] + once_gone_.size() >= capacity_) {
        if (once_gone_.size() == 0) return leave(kOnce, nullptr);
        once_gone_.pop_oldest();
      } else if (members_[kOnce] + members_[kAgain] + once_gone_.size() + again_gone_.size() >= 2 * capacity_) {
        again_gone_.pop_oldest();
      }
    }
    const auto once = static_cast<double>(members_[kOnce]);
    const bool from_once = members_[kOnce] > 0 && (once > target_ || (comes_ == Comes::from_again && once == target_));
    return from_once ? leave(kOnce, &once_gone_) : leave(kAgain, &again_gone_);
  }

 private:
  static constexpr std::uint8_t kOnce = 0;   // T1
  static constexpr std::uint8_t kAgain = 1;  // T2
  enum class Comes { unknown, from_once, from_again };
  struct State {
    std::uint64_t key = kNoKey;
    std::uint8_t list = kOnce;
  };

  // The oldest of `list`, or of the other one where all of `list` are held.
  BlockId leave(std::uint8_t list, GhostQueue* ghosts) {
    if (order_.empty(list)) {
      list = list == kOnce ? kAgain : kOnce;
      ghosts = list == kOnce ? &once_gone_ : &again_gone_;
      if (order_.empty(list)) return kNoBlock;
    }
    const BlockId slot = order_.oldest(list);
    order_.remove(slot);
    --members_[list];
    if (ghosts != nullptr) ghosts->push(states_[slot].key);
    return slot;
  }

  std::int64_t capacity_;
  SlotLists order_;
  std::vector<State> states_;
  GhostQueue once_gone_;              // B1
  GhostQueue again_gone_;             // B2
  std::int64_t members_[2] = {0, 0};  // held ones included
  double target_ = 0;                 // p
  Comes comes_ = Comes::unknown;
};

}  // namespace blockyard::kv
