// Paged KV memory of a model whose layers do not all look back at everything, as the engine's hybrid manager hands it
// out: layers stand in groups of equal size, each group has a block table of its own in every sequence, and all blocks
// come from one pool. Of a group with a window the blocks that have fallen out of it as a whole are freed when the
// sequence grows next: with c tokens computed, the first floor((c - window + 1) / block_size) of them. Law: free + held
// == total blocks; a sequence of n tokens has ceil(n / block_size) blocks in each table, less those freed.
// States as under `paged`; tokens that have fallen out of a window are live while their block is held. They are counted
// in pieces: a token in one table. Cost: O(1) a step and O(log n) a block taken or freed in the number n of decoding
// sequences. Blocks are counted, not named; there is no prefix cache. Source: vLLM 0.13, SlidingWindowManager,
// KVCacheCoordinator.
#pragma once

#include <vector>

#include "sim/kv/allocator/allocator.h"
#include "sim/kv/allocator/due_queue.h"

namespace blockyard::kv {

// Block tables that each sequence has.
struct BlockTables {
  Tokens window;  // 0 = its layers look back at everything
  std::int64_t count = 0;
};

class PagedWindows final : public Allocator {
 public:
  // `longest_chunk`: most tokens that a sequence grows by at once.
  PagedWindows(Blocks blocks, Tokens block_size, std::vector<BlockTables> tables, Tokens longest_chunk);

  [[nodiscard]] std::string why_never(const SequenceNeed& need) const override;
  // A refused admission may find room that a window has left behind.
  [[nodiscard]] bool admission_changed(SequenceId /*id*/) const override { return windows_moved_ != moved_at_refusal_; }
  [[nodiscard]] bool order_decides() const override { return true; }
  [[nodiscard]] std::int64_t decode_demand() const override;
  [[nodiscard]] std::int64_t demand(SequenceId id, Tokens total) const override;
  [[nodiscard]] std::int64_t admission_demand(SequenceId /*id*/, const SequenceNeed& /*need*/,
                                              Tokens first) const override {
    return most_held(first);
  }
  [[nodiscard]] std::int64_t held_grains(SequenceId id) const override {
    return (taken(Tokens(0), written(id)) - held_[index_of(id)].freed).count();
  }
  [[nodiscard]] std::int64_t available() const override { return free_.count(); }
  [[nodiscard]] std::int64_t total_grains() const override { return total_.count(); }
  [[nodiscard]] MemoryPartition partition() const override;
  [[nodiscard]] Tokens largest_free() const override { return block_size_ * (free_.count() / width_); }
  [[nodiscard]] std::int64_t pieces_per_token() const override { return width_; }
  [[nodiscard]] std::int64_t total_pieces() const override { return total_.count() * block_size_.count(); }

 private:
  struct Held {
    std::uint64_t order = 0;  // of admission
    std::int64_t due = -1;    // the decode step that takes or frees blocks next, -1 = it does not decode
    Blocks freed;             // of all that its tables have had
  };
  struct Growing {
    std::uint64_t order = 0;
    SequenceId id = SequenceId::none;
    Tokens from;
    Tokens to;
  };

  [[nodiscard]] std::int64_t most_held(Tokens end) const;
  [[nodiscard]] Blocks taken(Tokens from, Tokens to) const;
  [[nodiscard]] Blocks freed_at(Tokens computed) const;
  [[nodiscard]] Tokens next_change(Tokens computed) const;
  void change(Held& held, Tokens from, Tokens to);
  void schedule(SequenceId id, Tokens written);
  Grant do_admit(SequenceId id, const SequenceNeed& need, Tokens first) override;
  Grant do_grow(SequenceId id, Tokens from, Tokens to) override;
  void do_release(SequenceId id, Tokens written) override;
  void do_start_decoding(SequenceId id, Tokens written) override;
  void do_stop_decoding(SequenceId id, Tokens written) override;
  Grant do_grow_decoding(std::span<const Growth> others) override;

  Tokens block_size_;
  std::vector<BlockTables> tables_;
  std::int64_t width_ = 0;  // tables of a sequence
  Tokens longest_chunk_;
  Blocks total_;
  Blocks free_;
  Blocks freed_;  // of all sequences that hold memory, out of their windows
  std::vector<Held> held_;
  std::uint64_t admissions_ = 0;
  std::int64_t windows_moved_ = 0;  // blocks freed since the beginning
  std::int64_t moved_at_refusal_ = 0;
  DueQueue due_;
  std::vector<Growing> growing_;  // scratch of do_grow_decoding
};

}  // namespace blockyard::kv
