// queue_aware: lru among the blocks that no waiting request will ask for; only when there are none of those, lru among
// the others. want and unwant tell which contents the first waiting requests will ask for: in the serving loop those at
// the head of the queue, in the cache alone the requests that come next. Source: vLLM RFC 48485; the look-ahead of
// CachedAttention, Gao et al., USENIX ATC 2024. O(log n).
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <compare>
#include <cstdint>
#include <vector>

#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_heap.h"

namespace blockyard::kv {

class QueueAware final : public PolicyDefaults {
 public:
  explicit QueueAware(const PolicyOptions& options)
      : heap_(options.slots), states_(static_cast<std::size_t>(options.slots)) {}

  void want(std::uint64_t key) {
    Demand& demand = demands_[key];
    if (++demand.waiting == 1) reorder(demand);
  }
  void unwant(std::uint64_t key) {
    const auto found = demands_.find(key);
    if (--found->second.waiting > 0) return;
    reorder(found->second);
    if (found->second.slot == kNoBlock) demands_.erase(found);
  }

  void insert(BlockId slot, const Reference& r) {
    states_[slot] = {r.key, 0, true};
    demands_[r.key].slot = slot;
  }
  void hit(BlockId /*slot*/, const Reference& /*r*/) {}
  void hold(BlockId slot) {
    states_[slot].held = true;
    if (heap_.contains(slot)) heap_.remove(slot);
  }
  void let_go(BlockId slot) {
    states_[slot].held = false;
    states_[slot].used = ++clock_;
    reorder(demands_[states_[slot].key]);
  }
  BlockId evict() {
    if (heap_.empty()) return kNoBlock;
    const BlockId slot = heap_.top();
    heap_.remove(slot);
    const auto found = demands_.find(states_[slot].key);
    found->second.slot = kNoBlock;
    if (found->second.waiting == 0) demands_.erase(found);
    return slot;
  }

 private:
  struct Demand {  // of a content that is cached or waited for
    BlockId slot = kNoBlock;
    std::int32_t waiting = 0;
  };
  struct Key {
    bool wanted = false;
    std::uint64_t used = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct State {
    std::uint64_t key = kNoKey;
    std::uint64_t used = 0;
    bool held = false;
  };

  void reorder(const Demand& demand) {
    if (demand.slot == kNoBlock || states_[demand.slot].held) return;
    heap_.set(demand.slot, {demand.waiting > 0, states_[demand.slot].used});
  }

  SlotHeap<Key> heap_;  // those not held
  std::vector<State> states_;
  boost::unordered_flat_map<std::uint64_t, Demand> demands_;
  std::uint64_t clock_ = 0;
};

}  // namespace blockyard::kv
