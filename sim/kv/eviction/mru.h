// mru: the block that was let go last; of one request the block nearest to the beginning, so that what is left of a
// request can rarely be reached. Best for cyclic scans. Source: SGLang, mem_cache/evict_policy.py.
#pragma once

#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_lists.h"

namespace blockyard::kv {

class Mru final : public PolicyDefaults {
 public:
  explicit Mru(const PolicyOptions& options) : order_(options.slots, 1) {}

  void insert(BlockId /*slot*/, const Reference& /*r*/) {}
  void hit(BlockId /*slot*/, const Reference& /*r*/) {}
  void hold(BlockId slot) { order_.remove(slot); }
  void let_go(BlockId slot) { order_.push_youngest(0, slot); }
  BlockId evict() {
    if (order_.empty(0)) return kNoBlock;
    const BlockId slot = order_.youngest(0);
    order_.remove(slot);
    return slot;
  }

 private:
  SlotLists order_;
};

}  // namespace blockyard::kv
