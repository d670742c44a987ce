// lru: the block that was let go longest ago; of one request the deepest first. Source: the free queue of vLLM's block
// pool; Mattson et al., IBM Systems Journal 1970 (a stack policy). In the serving loop this name means the engine's own
// queue (allocator/paged_cached.h), which mixes blocks without a content into the same order.
#pragma once

#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_lists.h"

namespace blockyard::kv {

class Lru final : public PolicyDefaults {
 public:
  static constexpr bool kInclusive = true;
  explicit Lru(const PolicyOptions& options) : order_(options.slots, 1) {}

  void insert(BlockId /*slot*/, const Reference& /*r*/) {}
  void hit(BlockId /*slot*/, const Reference& /*r*/) {}
  void hold(BlockId slot) { order_.remove(slot); }
  void let_go(BlockId slot) { order_.push_youngest(0, slot); }
  BlockId evict() {
    if (order_.empty(0)) return kNoBlock;
    const BlockId slot = order_.oldest(0);
    order_.remove(slot);
    return slot;
  }

 private:
  SlotLists order_;
};

}  // namespace blockyard::kv
