// Paged KV memory with named blocks and the engine's prefix cache, of a model some of whose layers look back at a
// window only: every sequence has several block tables (block_tables.h), all blocks come from one pool, and each table
// has its own blocks of a content. As paged_cached.h does for one table, and with one table that looks back at
// everything exactly so, under the engine's own order of eviction:
//
//   found       the most leading full blocks of which every table that looks back at everything has all, and every
//               other the last ceil((window - 1) / block), or all if there are fewer; tables of one window together
//   shared      those; what lies before the window is in no table, as if it had been freed
//   freed       blocks that fall out of the window keep their content and join the free queue, the latest first
//
// Law: free + held == usable blocks. States as under paged_hybrid.h; free blocks with a content are cached. A hit
// counts for who used the block of the first table that looks back at everything (of the first table, where none does)
// last before; stranded blocks are counted in the tables that look back at everything, as a window needs no block
// before it.
//
// Cost: O(tables) a sequence that takes, names or frees blocks in a step, and O(log n) in the number n of decoding
// ones; find_prefix O(blocks looked at x tables). A refused sequence is asked again whenever a window has moved on.
// Source: vLLM 0.13, v1/core/kv_cache_coordinator.py and single_type_kv_cache_manager.py; no recorded run covers it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/kv/allocator/allocator.h"
#include "sim/kv/allocator/block_tables.h"
#include "sim/kv/allocator/due_queue.h"
#include "sim/kv/block_pool.h"
#include "sim/kv/content.h"
#include "sim/kv/prefix/content_tree.h"
#include "sim/kv/prefix/prefix_watch.h"

namespace blockyard::kv {

class PagedGroups final : public Allocator {
 public:
  // `blocks` with the engine's null block: blocks - 1 are usable. `tables` have blocks of one number of tokens; those
  // of a row use equally many pieces. `block_pieces` and `longest_chunk` as in paged_hybrid.h; `contents` outlives the
  // allocator.
  PagedGroups(Blocks blocks, std::int64_t block_pieces, const std::vector<BlockTables>& tables, Tokens longest_chunk,
              ContentSource& contents);

  [[nodiscard]] std::string why_never(const SequenceNeed& need) const override;
  Tokens find_prefix(SequenceId id, RequestId request, Tokens length) override;
  Tokens cached_prefix(SequenceId id, RequestId request, Tokens length) override;
  [[nodiscard]] std::uint64_t prefix_changes() const override;
  [[nodiscard]] bool admission_changed(SequenceId id) const override;
  [[nodiscard]] bool order_decides() const override { return true; }
  void forget(SequenceId id) override;
  bool remember(const Content& content, const ContentOrigin& origin) override;
  [[nodiscard]] bool decodes_by_turns() const override { return true; }
  [[nodiscard]] std::int64_t decode_demand() const override;
  [[nodiscard]] std::int64_t demand(SequenceId id, Tokens total) const override;
  [[nodiscard]] std::int64_t admission_demand(SequenceId id, const SequenceNeed& need, Tokens first) const override;
  [[nodiscard]] std::int64_t held_grains(SequenceId id) const override;
  [[nodiscard]] std::int64_t available() const override { return pool_.free().count(); }
  [[nodiscard]] std::int64_t total_grains() const override { return pool_.capacity().count(); }
  [[nodiscard]] MemoryPartition partition() const override;
  // Of tokens that are in every table.
  [[nodiscard]] Tokens largest_free() const override { return block_size_ * (available() / std::ssize(tables_)); }
  [[nodiscard]] std::int64_t largest_free_pieces() const override { return available() * block_pieces_; }
  [[nodiscard]] std::int64_t total_pieces() const override { return total_grains() * block_pieces_; }
  [[nodiscard]] std::optional<CacheLedger> cache_ledger() const override;

  // For tests: what of a sequence is in table t, kNoBlock for what has left its window; and the free queue.
  [[nodiscard]] const std::vector<BlockId>& block_table(SequenceId id, std::size_t t) const {
    return held_[index_of(id)].rows[t].blocks;
  }
  void free_queue(std::vector<BlockId>& out) const { pool_.free_queue(out); }

 private:
  struct Table {
    BlockTables one;  // of count 1
    ContentTree tree;
    PrefixWatch watch;      // of its tree
    std::int64_t used = 0;  // blocks with an owner
  };
  struct Row {
    std::vector<BlockId> blocks;
    std::int32_t gone = 0;  // leading blocks that have left the window
    Path path;              // in the table's tree
  };
  struct Held {
    std::vector<Row> rows;  // by table
    bool has_path = false;
    bool resumed = false;  // it was admitted before
    std::int32_t path_blocks = 0;
    std::int32_t hit = 0;         // blocks found by the last find_prefix
    std::int32_t hit_free = 0;    // of those in tables, free ones
    std::int32_t hit_held = 0;    // of the blocks that end there, those of a table that are in it; of all tables
    std::int32_t published = 0;   // blocks of a table that are published, or were found
    std::int32_t looked_up = 0;   // blocks that the last find_prefix would have taken,
    std::int32_t whole_hit = 0;   // and those that it found in the tables that look back at everything
    std::int64_t moved_then = 0;  // moved_ and named_ at that time
    std::int64_t named_then = 0;
    bool watched = false;          // since cached_prefix was asked of it
    std::uint64_t watched_at = 0;  // changes along its paths when it was looked up by it last
    std::int32_t cached = 0;       // blocks that it found
    std::uint64_t order = 0;       // of admission
    std::int64_t due = -1;         // the decode step that changes something next, -1 = it does not decode
    RequestId request{};
    ContentOrigin origin;
  };
  struct User {
    RequestId request{};
    std::uint32_t session = 0;
  };

  Held& at(SequenceId id);
  void make_path(Held& held);
  void know(Held& held, RequestId request);
  void watch_no_more(Held& held);
  void drop_path(Held& held);
  [[nodiscard]] BlockId find(const Held& held, std::size_t table, std::int32_t position) const;
  [[nodiscard]] bool found(const Held& held, Tokens window, std::int32_t position) const;
  [[nodiscard]] std::int32_t whole_hit(const Held& held, std::int32_t limit) const;
  [[nodiscard]] std::int32_t hit_in_windows(const Held& held, std::int32_t hit) const;
  [[nodiscard]] std::int32_t first_needed(Tokens window, std::int32_t hit) const;
  [[nodiscard]] std::int64_t to_be_freed(const Held& held, Tokens computed) const;
  [[nodiscard]] Tokens next_change(Tokens computed) const;
  void take_found(Held& held);
  void count_hits(Held& held);
  void move_windows(Held& held, Tokens computed);
  void extend(Held& held, Tokens total);
  void publish(Held& held, Tokens total);
  void reach(Held& held, Tokens from, Tokens total);
  void give_back(std::size_t table, BlockId block);
  void give_back_tables(Held& held);
  void schedule(SequenceId id, Tokens written);
  Grant do_admit(SequenceId id, const SequenceNeed& need, Tokens first) override;
  Grant do_grow(SequenceId id, Tokens from, Tokens to) override;
  void do_release(SequenceId id, Tokens written) override;
  void do_start_decoding(SequenceId id, Tokens written) override { schedule(id, written); }
  void do_stop_decoding(SequenceId id, Tokens written) override;
  Grant do_grow_decoding(std::span<const Growth> others) override;
  void set_cohorts(std::size_t cohorts) override { due_.set_cohorts(cohorts); }

  Tokens block_size_;
  std::int64_t block_pieces_;
  Tokens longest_chunk_;
  ContentSource* contents_;
  BlockPool pool_;
  std::vector<Table> tables_;
  std::vector<Tokens> windows_;          // each once, but for 0
  std::size_t witness_ = 0;              // the table whose blocks hits are counted by
  std::vector<std::uint16_t> table_of_;  // by block, while it is held or has a content
  std::vector<User> users_;              // by block, while it has a content
  std::vector<Held> held_;
  std::uint64_t admissions_ = 0;
  std::int64_t table_blocks_ = 0;  // of the tables of one index, with what has left their window
  std::int64_t cached_ = 0;        // free blocks with a content
  std::int64_t evictions_ = 0;
  std::int64_t moved_ = 0;  // blocks evicted, and blocks that left a window
  std::int64_t named_ = 0;  // blocks named
  CacheLedger ledger_;
  DueQueue due_;
  std::vector<Growing> growing_;  // scratch of do_grow_decoding
  Content content_;               // scratch of make_path
};

}  // namespace blockyard::kv
