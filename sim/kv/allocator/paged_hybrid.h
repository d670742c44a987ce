// Paged KV memory of a model whose layers do not all keep the same past, as the engine's hybrid manager hands it out:
// every sequence has several block tables (block_tables.h), and all blocks come from one pool of blocks of one size.
//
// Law: free + held == total blocks. States as under `paged`; tokens that have fallen out of a window are live while
// their block is held, a recurrent state is live, and `padding` is what of a block no layer uses: kinds of layers that
// do not fill the common page, and groups that are short of layers. Bytes are counted in pieces, the largest size that
// all of this is a multiple of.
//
// Cost: O(kinds of tables) a step and O(log n) a block taken or freed in the number n of decoding sequences. Blocks are
// counted, not named; with a prefix cache it is paged_groups.h. Source: vLLM 0.13, v1/core/kv_cache_coordinator.py.
#pragma once

#include <vector>

#include "sim/kv/allocator/allocator.h"
#include "sim/kv/allocator/block_tables.h"
#include "sim/kv/allocator/due_queue.h"

namespace blockyard::kv {

class PagedHybrid final : public Allocator {
 public:
  // `block_pieces`: of a block; `longest_chunk`: most tokens that a sequence grows by at once.
  PagedHybrid(Blocks blocks, std::int64_t block_pieces, const std::vector<BlockTables>& tables, Tokens longest_chunk);

  [[nodiscard]] std::string why_never(const SequenceNeed& need) const override;
  // A refused admission may find room that a window has left behind.
  [[nodiscard]] bool admission_changed(SequenceId /*id*/) const override { return windows_moved_ != moved_at_refusal_; }
  [[nodiscard]] bool order_decides() const override { return true; }
  [[nodiscard]] bool decodes_by_turns() const override { return true; }
  [[nodiscard]] std::int64_t decode_demand() const override;
  [[nodiscard]] std::int64_t demand(SequenceId id, Tokens total) const override;
  [[nodiscard]] std::int64_t admission_demand(SequenceId /*id*/, const SequenceNeed& /*need*/,
                                              Tokens first) const override {
    return most_held(first);
  }
  [[nodiscard]] std::int64_t held_grains(SequenceId id) const override;
  [[nodiscard]] std::int64_t available() const override { return free_.count(); }
  [[nodiscard]] std::int64_t total_grains() const override { return total_.count(); }
  [[nodiscard]] MemoryPartition partition() const override;
  // Of tokens that are in every table.
  [[nodiscard]] Tokens largest_free() const override;
  [[nodiscard]] std::int64_t largest_free_pieces() const override { return free_.count() * block_pieces_; }
  [[nodiscard]] std::int64_t total_pieces() const override { return total_.count() * block_pieces_; }

 private:
  struct Kind {
    BlockTables tables;
    std::int64_t taken = 0;  // blocks of each table, of all sequences that hold memory
    std::int64_t freed = 0;  // of those, out of the window
  };
  struct Held {
    std::uint64_t order = 0;  // of admission
    std::int64_t due = -1;    // the decode step that takes or frees blocks next, -1 = it does not decode
    Tokens moved;             // tokens computed when its windows moved last
  };

  [[nodiscard]] std::int64_t most_held(Tokens end) const;
  [[nodiscard]] std::int64_t blocks(Tokens from, Tokens to, Tokens moved_from, Tokens moved_to) const;
  [[nodiscard]] Tokens next_change(Tokens computed) const;
  void change(Held& held, Tokens from, Tokens to);
  void schedule(SequenceId id, Tokens written);
  Grant do_admit(SequenceId id, const SequenceNeed& need, Tokens first) override;
  Grant do_grow(SequenceId id, Tokens from, Tokens to) override;
  void do_release(SequenceId id, Tokens written) override;
  void do_start_decoding(SequenceId id, Tokens written) override;
  void do_stop_decoding(SequenceId id, Tokens written) override;
  Grant do_grow_decoding(std::span<const Growth> others) override;
  void set_cohorts(std::size_t cohorts) override { due_.set_cohorts(cohorts); }

  std::vector<Kind> kinds_;
  std::int64_t block_pieces_;
  Tokens longest_chunk_;
  Blocks total_;
  Blocks free_;
  std::vector<Held> held_;
  std::uint64_t admissions_ = 0;
  std::int64_t windows_moved_ = 0;  // blocks freed since the beginning
  std::int64_t moved_at_refusal_ = 0;
  DueQueue due_;
  std::vector<Growing> growing_;  // scratch of do_grow_decoding
};

}  // namespace blockyard::kv
