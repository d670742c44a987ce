// The cached blocks of paged memory under an eviction policy: tells the policy what happens to them, and what of a
// block it wants to know. Blocks that nobody owns are here, and not in the pool's free queue, until they are evicted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sim/kv/cache/recorded_uses.h"
#include "sim/kv/eviction/keeping.h"

namespace blockyard::kv {

// How an allocator evicts, where not in the engine's own order.
struct CacheEviction {
  const EvictionRow* policy = nullptr;  // nullptr: the engine's own order
  KeepingRules rules = {};              // with a policy
  PolicyOptions options;                // but for capacity and slots
  std::vector<double> cost = {};        // of computing a block again, by position, relative to the first
  const RecordedUses* future = nullptr;
  RecordedUses* record = nullptr;
};

// The chain that a sequence holds or asks for, as far as policies care.
struct ChainFacts {
  std::span<const std::uint64_t> keys;  // by position
  std::uint32_t category = 0;
  std::uint32_t tenant = 0;
};

class IdleBlocks {
 public:
  // `cost` of computing a block again, by position, relative to the first. `future` (may be null) outlives it.
  IdleBlocks(std::unique_ptr<Eviction> policy, std::vector<double> cost, const RecordedUses* future)
      : policy_(std::move(policy)), cost_(std::move(cost)), future_(future) {}

  // Appends the blocks whose time is over.
  void advance(SimTime now, std::vector<BlockId>& over) {
    now_ = now;
    policy_->expire(now, over);
  }
  void set_admission(std::int64_t number) { admission_ = number; }

  // `blocks` stand at positions first, first + 1, ... of the chain.
  void found(std::span<const BlockId> blocks, std::int32_t first, const ChainFacts& chain) {
    describe(blocks, first, chain);
    policy_->hit(entries_);
  }
  // Gives what the policy was told.
  std::span<const Eviction::Entry> entered(std::span<const BlockId> blocks, std::int32_t first,
                                           const ChainFacts& chain) {
    describe(blocks, first, chain);
    policy_->enter(entries_);
    return entries_;
  }
  // What a policy would be told of blocks that have no place yet, the deepest first.
  std::span<const Eviction::Entry> described(std::int32_t first, std::int32_t end, const ChainFacts& chain) {
    nowhere_.assign(static_cast<std::size_t>(end - first), kNoBlock);
    describe(nowhere_, first, chain);
    return entries_;
  }
  // The deepest first.
  void held(std::span<const BlockId> blocks) { policy_->hold(blocks); }
  void let_go(std::span<const BlockId> blocks) { policy_->let_go(blocks); }
  void evict(std::int64_t count, std::vector<BlockId>& out) {
    out.clear();
    policy_->evict(static_cast<std::size_t>(count), out);
  }
  void want(std::span<const std::uint64_t> keys) { policy_->want(keys); }
  void unwant(std::span<const std::uint64_t> keys) { policy_->unwant(keys); }

 private:
  void describe(std::span<const BlockId> blocks, std::int32_t first, const ChainFacts& chain) {
    entries_.clear();
    for (std::size_t i = blocks.size(); i-- > 0;) {
      const std::size_t position = static_cast<std::size_t>(first) + i;
      Reference r;
      r.key = chain.keys[position];
      r.parent = position == 0 ? kNoKey : chain.keys[position - 1];
      r.depth = static_cast<std::uint32_t>(position);
      r.category = chain.category;
      r.tenant = chain.tenant;
      r.now = now_;
      if (!cost_.empty()) r.cost = cost_[std::min(position, cost_.size() - 1)];
      if (future_ != nullptr) r.next_use = future_->next_use(r.key, admission_);
      entries_.push_back({blocks[i], r});
    }
  }

  std::unique_ptr<Eviction> policy_;
  std::vector<double> cost_;
  const RecordedUses* future_;
  SimTime now_;
  std::int64_t admission_ = -1;
  std::vector<Eviction::Entry> entries_;  // scratch
  std::vector<BlockId> nowhere_;          // scratch
};

}  // namespace blockyard::kv
