// Paged KV memory with named blocks and the engine's prefix cache: a full block is found again by its tokens and all
// before them. Blocks are taken from the head of the pool's free queue and freed, last of a table first, to its tail; a
// block keeps its content in the queue until it is taken again, which is its eviction. Blocks become findable when they
// are planned, not when they are computed. Same decisions as vLLM 0.13 block by block (recorded runs prove it); with
// `caching` off, the same order without any sharing.
//
// Cost: O(1) a block taken, published, shared or freed; find_prefix O(blocks found). Decoding sequences stand in
// buckets (decode_buckets.h): one bucket takes blocks in a step, its neighbour publishes those that are full.
// Under an eviction policy other than the engine's own order, idle blocks with a content wait with the policy and not
// in the queue; room is made of the queue's blocks first, and a block whose content is known already is not published
// twice. With tiers below the GPU (tiers/lower_tiers.h) find_prefix looks on there where the GPU's blocks end; what an
// admission finds there is fetched, and is findable by others at once, who then wait for its arrival too. Ledger: a
// block with an owner is live but for its tail; a free block with a content is cached.
//
// A sample after the first (SequenceNeed::leader) holds the full blocks of the first one's prompt with it, and blocks
// of its own from there on, whose content nobody asks for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/kv/allocator/allocator.h"
#include "sim/kv/allocator/decode_buckets.h"
#include "sim/kv/block_pool.h"
#include "sim/kv/content.h"
#include "sim/kv/prefix/content_tree.h"
#include "sim/kv/prefix/expected_requests.h"
#include "sim/kv/prefix/idle_blocks.h"
#include "sim/kv/prefix/prefix_watch.h"
#include "sim/kv/tiers/lower_tiers.h"

namespace blockyard::kv {

class PagedCached final : public Allocator {
 public:
  // `blocks` with the engine's null block: blocks - 1 are usable. `contents` (may be null if `caching` is off) outlives
  // the allocator.
  PagedCached(Blocks blocks, Tokens block_size, bool caching, ContentSource* contents);
  // Called before anything else is. `future` (may be null) is what the policy is told; `record` (may be null) is where
  // this run's lookups go. Both outlive the allocator.
  void set_eviction(const CacheEviction& eviction);
  // With an eviction policy; called before anything else is.
  void set_tiers(const TiersOptions& tiers);

  [[nodiscard]] std::string why_never(const SequenceNeed& need) const override;
  Tokens find_prefix(SequenceId id, RequestId request, Tokens length) override;
  Tokens cached_prefix(SequenceId id, RequestId request, Tokens length) override;
  [[nodiscard]] std::uint64_t prefix_changes() const override { return watch_.changes(); }
  [[nodiscard]] bool admission_changed(SequenceId id) const override;
  [[nodiscard]] bool prefix_comes_later(SequenceId id) const override { return held_[index_of(id)].comes_later; }
  [[nodiscard]] SimTime prefix_arrives(SequenceId id) const override { return held_[index_of(id)].arrives; }
  // The engine's queue gives up its oldest blocks first, whether a victim's have joined it or not; another policy may
  // choose those, so that who grows before the victim goes matters.
  [[nodiscard]] bool order_decides() const override { return idle_ != nullptr; }
  void forget(SequenceId id) override;
  bool remember(const Content& content, const ContentOrigin& origin) override;
  [[nodiscard]] bool decodes_by_turns() const override { return true; }
  [[nodiscard]] std::int64_t decode_demand() const override;
  [[nodiscard]] std::int64_t demand(SequenceId id, Tokens total) const override;
  [[nodiscard]] std::int64_t admission_demand(SequenceId id, const SequenceNeed& need, Tokens first) const override;
  // Unshared is what the tables of all owners would hold apart.
  [[nodiscard]] BlockSharing sharing() const override {
    return {pool_.capacity() - Blocks(available()), Blocks(table_blocks_)};
  }
  [[nodiscard]] std::int64_t held_grains(SequenceId id) const override {
    return static_cast<std::int64_t>(held_[index_of(id)].table.size());
  }
  [[nodiscard]] std::int64_t available() const override { return pool_.free().count() + kept_aside(); }
  [[nodiscard]] std::int64_t total_grains() const override { return pool_.capacity().count(); }
  [[nodiscard]] MemoryPartition partition() const override;
  [[nodiscard]] Tokens largest_free() const override { return block_size_ * available(); }
  void advance(SimTime now) override;
  void step_ended(SimTime now) override {
    if (tiers_ != nullptr) tiers_->advance(now);
  }
  [[nodiscard]] std::optional<CacheLedger> cache_ledger() const override;
  void expect(RequestId request) override;
  void expect_no_more(RequestId request) override;

  // The state behind the decisions, for comparison with recorded runs.
  [[nodiscard]] Blocks free_blocks() const { return pool_.free(); }
  void free_queue(std::vector<BlockId>& out) const { pool_.free_queue(out); }
  [[nodiscard]] const std::vector<BlockId>& block_table(SequenceId id) const { return held_[index_of(id)].table; }
  [[nodiscard]] std::int64_t registered_hashes() const { return tree_.registered(); }
  [[nodiscard]] std::int64_t evictions() const { return evictions_; }

 private:
  struct Held {
    std::vector<BlockId> table;
    Path path;
    bool has_path = false;
    std::int32_t path_blocks = 0;
    std::int32_t hit = 0;                  // blocks found by the last find_prefix
    std::int32_t hit_free = 0;             // of those, free ones
    std::int32_t looked_up = 0;            // blocks that the last find_prefix would have taken
    NodeId missing = kNoNode;              // of the first block that it did not find, though it looked
    std::int64_t looked_at = 0;            // evictions() at that time
    std::int32_t published = 0;            // blocks of the table that are published, or were found
    std::uint64_t order = 0;               // of admission
    SequenceId leader = SequenceId::none;  // whose blocks it will share; none once it does
    std::int32_t to_share = 0;             // of them
    RequestId request{};
    ContentOrigin origin;
    bool resumed = false;      // it was admitted before
    std::int32_t below = 0;    // blocks behind the hit that a tier below has, as of the last find_prefix
    std::int32_t fetched = 0;  // of those, worth fetching
    SimTime arrives;           // of what was found
    bool comes_later = false;
    bool watched = false;             // since cached_prefix was asked of it
    std::uint64_t watched_at = 0;     // changes along its path when it was looked up by it last
    std::int32_t cached = 0;          // blocks that it found
    std::vector<std::uint64_t> keys;  // of its content's blocks, where a policy or a recording wants them
  };
  Grant do_admit(SequenceId id, const SequenceNeed& need, Tokens first) override;
  Grant do_grow(SequenceId id, Tokens from, Tokens to) override;
  void do_release(SequenceId id, Tokens written) override;
  void do_start_decoding(SequenceId id, Tokens written) override;
  void do_stop_decoding(SequenceId id, Tokens written) override;
  Grant do_grow_decoding(std::span<const Growth> others) override;
  void set_cohorts(std::size_t cohorts) override { decoding_.resize(cohorts, Members(block_size_)); }

  using Members = DecodeBuckets<std::vector<SequenceId>>;  // each in order of admission

  // Who used a block last, while it holds a content.
  struct User {
    RequestId request{};
    std::uint32_t session = 0;
  };

  [[nodiscard]] std::int64_t kept_aside() const { return idle_ == nullptr ? 0 : cached_; }
  void make_path(Held& held, RequestId request);
  void take_path(Held& held);
  void take_found(Held& held, std::int32_t blocks);
  void give_back_table(Held& held);
  void look_below(Held& held, std::int32_t limit);
  void fetch(Held& held);
  void watch_no_more(Held& held);
  [[nodiscard]] ChainFacts chain_of(const Held& held) const {
    return {held.keys, held.origin.category, held.origin.tenant};
  }
  void count_hits(Held& held);
  void share_found(Held& held);
  void make_room(std::int64_t blocks);
  void give_up(std::span<const BlockId> blocks);
  void drop_content(BlockId block);
  void tell_entered(const Held& held, std::int32_t first);
  void look_for_stranded();
  void follow_leader(Held& held);
  void extend(Held& held, std::int64_t blocks);
  void reach(SequenceId id, Tokens total);
  void publish(Held& held, Tokens total);
  void take_one(SequenceId id) { extend(held_[index_of(id)], 1); }
  void publish_one(SequenceId id);

  Tokens block_size_;
  bool caching_;
  ContentSource* contents_;
  BlockPool pool_;
  ContentTree tree_;
  PrefixWatch watch_;
  std::vector<Held> held_;
  std::vector<Members> decoding_;  // by cohort
  std::uint64_t admissions_ = 0;   // so far
  std::int64_t lookups_ = 0;       // of them, those that looked for a prefix
  std::int64_t table_blocks_ = 0;  // sum of the tables' sizes; a shared block counts once a table
  std::int64_t cached_ = 0;        // free blocks with a content
  std::int64_t evictions_ = 0;
  std::int64_t until_look_;  // evictions until stranded blocks are counted again
  std::vector<User> users_;  // by block
  CacheLedger ledger_;
  std::unique_ptr<IdleBlocks> idle_;  // nullptr: the engine's own order
  std::unique_ptr<ExpectedRequests> expected_;
  std::unique_ptr<LowerTiers> tiers_;  // nullptr: what is evicted is lost
  SimTime now_;                        // of the step in hand
  RecordedUses* record_ = nullptr;
  std::vector<BlockId> some_;        // scratch
  Content content_;                  // scratch of make_path
  std::vector<std::uint64_t> keys_;  // scratch of expect
};

}  // namespace blockyard::kv
