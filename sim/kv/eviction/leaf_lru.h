// leaf_lru: of the blocks without a cached block behind them in their chain, the one used longest ago: the cache stays
// closed under prefixes whatever the order in which owners let go. (An inner one goes if all leaves are held.) Where
// owners hold whole chains and let go the deepest block first it evicts what lru does. Source: RadixAttention, Zheng et
// al., arXiv 2312.07104 (SGLang); Dynamo's lineage eviction. O(log n).
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <compare>
#include <cstdint>
#include <vector>

#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_heap.h"

namespace blockyard::kv {

class LeafLru final : public PolicyDefaults {
 public:
  static constexpr bool kInclusive = true;
  explicit LeafLru(const PolicyOptions& options)
      : idle_(options.slots), states_(static_cast<std::size_t>(options.slots)) {}

  void insert(BlockId slot, const Reference& r) {
    states_[slot] = {r.key, r.parent, 0, true};
    chains_[r.key].slot = slot;
    if (r.parent != kNoKey && ++chains_[r.parent].children == 1) reorder(chains_[r.parent]);
  }
  void hit(BlockId /*slot*/, const Reference& /*r*/) {}
  void hold(BlockId slot) {
    states_[slot].held = true;
    idle_.remove(slot);
  }
  void let_go(BlockId slot) {
    states_[slot].held = false;
    states_[slot].used = ++clock_;
    reorder(chains_[states_[slot].key]);
  }
  BlockId evict() {
    if (idle_.empty()) return kNoBlock;
    const BlockId slot = idle_.top();
    idle_.remove(slot);
    const auto chain = chains_.find(states_[slot].key);
    chain->second.slot = kNoBlock;
    if (chain->second.children == 0) chains_.erase(chain);
    if (states_[slot].parent == kNoKey) return slot;
    const auto parent = chains_.find(states_[slot].parent);
    if (--parent->second.children > 0) return slot;
    if (parent->second.slot == kNoBlock) {
      chains_.erase(parent);
    } else {
      reorder(parent->second);
    }
    return slot;
  }

 private:
  struct Chain {  // of a block that is cached, or has a cached block behind it
    BlockId slot = kNoBlock;
    std::int32_t children = 0;
  };
  struct State {
    std::uint64_t key = kNoKey;
    std::uint64_t parent = kNoKey;
    std::uint64_t used = 0;
    bool held = false;
  };
  struct Key {
    bool inner = false;
    std::uint64_t used = 0;
    auto operator<=>(const Key&) const = default;
  };

  void reorder(const Chain& chain) {
    if (chain.slot == kNoBlock || states_[chain.slot].held) return;
    idle_.set(chain.slot, {chain.children > 0, states_[chain.slot].used});
  }

  SlotHeap<Key> idle_;  // those not held: leaves before inner ones, each by last use
  std::vector<State> states_;
  boost::unordered_flat_map<std::uint64_t, Chain> chains_;
  std::uint64_t clock_ = 0;
};

}  // namespace blockyard::kv
