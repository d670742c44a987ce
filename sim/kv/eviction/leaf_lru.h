// leaf_lru: of the blocks without a cached block behind them in their chain, the one used longest ago: the cache stays
// closed under prefixes whatever the order in which owners let go. (An inner one goes if all leaves are held.) Where
// owners hold whole chains and let go the deepest block first it evicts what lru does. Source: RadixAttention, Zheng et
// al., arXiv 2312.07104 (SGLang); Dynamo's lineage eviction. O(log leaves); leaves are few where chains are long, as
// with blocks of one token.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <compare>
#include <cstdint>
#include <vector>

#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_heap.h"
#include "sim/kv/eviction/slot_lists.h"

namespace blockyard::kv {

class LeafLru final : public PolicyDefaults {
 public:
  static constexpr bool kInclusive = true;
  explicit LeafLru(const PolicyOptions& options)
      : leaves_(options.slots), inner_(options.slots, 1), states_(static_cast<std::size_t>(options.slots)) {}

  void insert(BlockId slot, const Reference& r) {
    const std::uint32_t own = node_of(r.key);
    nodes_[own].slot = slot;
    states_[slot] = {own, true, 0};
    if (r.parent == kNoKey) {
      nodes_[own].parent = kNone;
      return;
    }
    const std::uint32_t parent = node_of(r.parent);
    nodes_[own].parent = parent;
    if (++nodes_[parent].children == 1) move(nodes_[parent]);
  }
  void hit(BlockId /*slot*/, const Reference& /*r*/) {}
  void hold(BlockId slot) {
    states_[slot].held = true;
    take_out(slot);
  }
  void let_go(BlockId slot) {
    State& state = states_[slot];
    state.held = false;
    state.used = ++clock_;
    if (nodes_[state.node].children > 0) {
      inner_.push_youngest(0, slot);
    } else {
      leaves_.set(slot, {false, state.used});
    }
  }
  BlockId evict() {
    const BlockId slot = next();
    if (slot == kNoBlock) return kNoBlock;
    take_out(slot);
    Node& own = nodes_[states_[slot].node];
    const std::uint32_t parent = own.parent;
    own.slot = kNoBlock;
    if (own.children == 0) forget(states_[slot].node);
    if (parent == kNone || --nodes_[parent].children > 0) return slot;
    if (nodes_[parent].slot == kNoBlock) {
      forget(parent);
    } else {
      move(nodes_[parent]);
    }
    return slot;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Node {  // of a block that is cached, or has a cached block behind it
    std::uint64_t key = kNoKey;
    std::uint32_t parent = kNone;
    BlockId slot = kNoBlock;
    std::int32_t children = 0;  // cached ones
  };
  struct State {
    std::uint32_t node = kNone;
    bool held = false;
    std::uint64_t used = 0;
  };
  struct Key {
    bool inner = false;
    std::uint64_t used = 0;
    auto operator<=>(const Key&) const = default;
  };

  // Blocks come the deepest first: a block is often the parent of the one before.
  std::uint32_t node_of(std::uint64_t key) {
    if (last_ < nodes_.size() && nodes_[last_].key == key) return last_;
    const auto [known, is_new] = index_.try_emplace(key, kNone);
    if (is_new) {
      if (unused_.empty()) {
        known->second = static_cast<std::uint32_t>(nodes_.size());
        nodes_.emplace_back();
      } else {
        known->second = unused_.back();
        unused_.pop_back();
      }
      nodes_[known->second].key = key;
    }
    return last_ = known->second;
  }
  void forget(std::uint32_t node) {
    index_.erase(nodes_[node].key);
    nodes_[node] = {};
    unused_.push_back(node);
  }
  void take_out(BlockId slot) {
    if (inner_.linked(slot)) {
      inner_.remove(slot);
    } else {
      leaves_.remove(slot);
    }
  }
  // It has become a leaf, or is none any more.
  void move(const Node& node) {
    if (node.slot == kNoBlock || states_[node.slot].held) return;
    if (inner_.linked(node.slot)) inner_.remove(node.slot);
    leaves_.set(node.slot, {node.children > 0, states_[node.slot].used});
  }
  [[nodiscard]] BlockId next() const {
    const BlockId inner = inner_.empty(0) ? kNoBlock : inner_.oldest(0);
    if (leaves_.empty()) return inner;
    const bool first = inner == kNoBlock || !leaves_.top_key().inner || leaves_.top_key().used < states_[inner].used;
    return first ? leaves_.top() : inner;
  }

  // Those not held: leaves, and the few that became inner ones after they were let go, before all other inner ones,
  // which stand by their last use.
  SlotHeap<Key> leaves_;
  SlotLists inner_;
  std::vector<State> states_;  // by slot
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> unused_;
  std::uint32_t last_ = kNone;
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> index_;  // of nodes, by key
  std::uint64_t clock_ = 0;
};

}  // namespace blockyard::kv
