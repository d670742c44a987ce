// Tiers below the GPU: what the prefix cache has to give up may stay in host memory, on NVMe or in a remote store, and
// come back. Each tier has a size, an eviction policy and a rule of when it is written:
//   write_through  a block goes there as soon as it is computed
//   write_back     when its last owner lets it go
//   on_eviction    when the tier above gives it up (the GPU, for the first tier); a GPU block is used again only when
//                  its copy has ended, and the step that takes it waits
// A copy begins when all of its blocks have arrived where it reads them. The first two copy beside the steps; a GPU
// block evicted before its copy has ended holds the step up as well. What is read stays where it is (tiers are
// inclusive), and what comes from a store is in the host tier afterwards. Whether the leading blocks that are found are
// fetched or computed again is decided where a request is looked at: `cheapest` fetches where that takes less time.
// Prefetching brings the blocks of a request that has begun to wait from the stores into the host tier; it begins with
// the next step.
//
// Laws: a content is fetched from the uppermost tier that has it; read and written blocks are those given to the links.
// Cost: O(1) a block and tier beside the policies'. Sources: HiCache of SGLang; KV offloading of vLLM; Gao et al.,
// CachedAttention, ATC 2024.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sim/base/cache_ledger.h"
#include "sim/kv/eviction/policies.h"
#include "sim/kv/tiers/tier_links.h"
#include "sim/kv/tiers/tier_store.h"

namespace blockyard::kv {

enum class TierWrite { write_through, write_back, on_eviction };

struct TierOptions {
  Tier tier = Tier::host;
  Blocks capacity;
  TierWrite write = TierWrite::write_through;
  const EvictionRow* policy = nullptr;
  PolicyOptions options = {};  // but for capacity and slots
};

struct TiersOptions {
  std::vector<TierOptions> tiers = {};  // from the GPU downwards; none = no tiers
  bool always_load = false;             // also where computing again takes less time
  bool prefetch = false;
  TierLinks* links = nullptr;  // outlives the memory
};

class LowerTiers {
 public:
  LowerTiers(const TiersOptions& options, Tokens block_size, std::int64_t gpu_blocks);

  // Time passes, when a step begins or ends: copies that were due begin.
  void advance(SimTime now);

  // How many of the blocks at positions first, first + 1, ... of a chain the tiers have, leading ones, and how many of
  // these are worth fetching: all or none.
  struct Found {
    std::int32_t blocks = 0;
    std::int32_t worth_fetching = 0;
  };
  [[nodiscard]] Found find(std::span<const std::uint64_t> keys, std::int32_t first);
  void computed_instead(std::int32_t blocks) { computed_instead_ += (block_size_ * blocks).count(); }
  // Brings blocks of a chain, described the deepest first; returns when all will have arrived.
  SimTime fetch(std::span<const Eviction::Entry> blocks);

  // What happens to blocks of the GPU. Of those that came from a tier below, when they arrive.
  void entered(std::span<const Eviction::Entry> blocks);
  void arrives_at(BlockId block, SimTime time) { blocks_[block].arrives = time; }
  [[nodiscard]] SimTime arrival(BlockId block) const { return blocks_[block].arrives; }
  void let_go(std::span<const BlockId> blocks);
  // Returns when they may be written again.
  SimTime evicted(std::span<const BlockId> blocks);

  // Between these two, before the run: copies take no time, and nothing counts.
  void begin_warming();
  void end_warming();

  [[nodiscard]] bool prefetches() const { return prefetch_; }
  // The blocks that a waiting request will ask for, as far as they are known.
  void expect(std::span<const std::uint64_t> keys);

  void describe(CacheLedger& ledger) const;

 private:
  struct Level {
    Tier tier;
    TierWrite write;
    TierStore store;
    TierLedger ledger;
  };
  struct GpuBlock {
    Reference reference;
    SimTime arrives;
    SimTime copied;            // when its last copy out has ended
    std::uint64_t listed = 0;  // the last list of due blocks that it stood in
  };
  struct Due {
    BlockId block;
    std::uint64_t key;
  };

  [[nodiscard]] std::size_t level_of(std::uint64_t key) const;  // levels_.size() = no tier has it
  void write_due(std::vector<Due>& due, TierWrite rule);
  SimTime write_to(std::span<const std::size_t> levels, std::span<const BlockId> blocks);
  void put(std::size_t level, const Reference& reference, SimTime ready);
  void settle_falling();
  void prefetch_due();
  void prefetch(std::span<const std::uint64_t> keys);

  Tokens block_size_;
  bool always_load_;
  bool prefetch_;
  TierLinks* links_;
  TierLinks* links_of_run_;
  SimTime now_;
  std::vector<Level> levels_;
  std::vector<GpuBlock> blocks_;                        // by block of the GPU
  boost::unordered_flat_set<std::uint64_t> on_gpu_;     // where there is prefetching
  std::vector<Due> computed_;                           // in the step in hand: to be written through
  std::vector<Due> idle_;                               // let go: to be written back
  std::vector<std::vector<TierStore::Entry>> falling_;  // by level: given up by the one above
  std::vector<std::uint64_t> expected_;     // chains of requests that have begun to wait, one behind another
  std::vector<std::size_t> expected_ends_;  // of each chain
  std::vector<BlockId> some_;               // scratch
  std::vector<BlockId> lacking_;            // scratch of write_to
  std::vector<std::size_t> from_;           // scratch of fetch: by block, the level that has it
  std::vector<std::pair<Reference, std::size_t>> coming_;  // scratch of prefetch
  std::uint64_t lists_ = 0;                                // of due blocks so far
  SimTime waits_until_;                                    // of the last step that waited for a write
  SimTime waited_for_writes_;
  std::int64_t computed_instead_ = 0;  // tokens
};

}  // namespace blockyard::kv
