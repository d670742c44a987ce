// ttl: a block is given up when it has lain without an owner for `ttl` (300 s unless set), whether room is needed or
// not; where room is needed before that, the one that lay longest goes. What hosted services offer: 300 s is the
// lifetime that Anthropic documents for its prompt cache; TensorRT-LLM has a retention duration. O(1).
#pragma once

#include <vector>

#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_lists.h"

namespace blockyard::kv {

class Ttl final : public PolicyDefaults {
 public:
  static constexpr bool kInclusive = true;
  explicit Ttl(const PolicyOptions& options)
      : ttl_(options.ttl), order_(options.slots, 1), since_(static_cast<std::size_t>(options.slots)) {}

  void insert(BlockId /*slot*/, const Reference& /*r*/) {}
  void hit(BlockId /*slot*/, const Reference& /*r*/) {}
  void hold(BlockId slot) { order_.remove(slot); }
  void let_go(BlockId slot) {
    since_[slot] = now_;
    order_.push_youngest(0, slot);
  }
  // Time passes: a block whose time is over by now, kNoBlock if there is none (more). Called before anything is looked
  // up.
  BlockId expire(SimTime now) {
    now_ = now;
    if (order_.empty(0) || now - since_[order_.oldest(0)] < ttl_) return kNoBlock;
    return evict();
  }
  BlockId evict() {
    if (order_.empty(0)) return kNoBlock;
    const BlockId slot = order_.oldest(0);
    order_.remove(slot);
    return slot;
  }

 private:
  SimTime ttl_;
  SimTime now_;
  SlotLists order_;
  std::vector<SimTime> since_;
};

}  // namespace blockyard::kv
