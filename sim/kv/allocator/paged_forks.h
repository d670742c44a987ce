// Paged KV memory for requests that become several sequences: n parallel samples, or the beams of a beam search. As
// paged.h, blocks are counted, not named; a request of width n is one sequence id here, whose n sequences have one
// length, since they decode together and end together.
//
// The prompt is written once. With the first token after it the request forks: the n sequences hold the prompt's full
// blocks together, and a partly filled last block is copied n - 1 times, the last sequence keeping the original
// (copy-on-write). From there each writes into blocks of its own; beams go on sharing as beam_tree.h says. With P
// prompt tokens, blocks of B and S = floor(P / B), a request that has written w holds
//
//   ceil(w / B) blocks up to w = P, and S + n (ceil(w / B) - S) beyond; of beams, as many as their tree, at most that.
//
// A request that lost its memory comes back with its prompt shared and the rest of each sequence its own: what beams
// shared beyond the prompt is not regained. why_never, and any admission, count that worst case.
//
// States: live counts each physical slot once; tail is the rest of the blocks held. The copies' own time, a block each
// way through the GPU's memory, is left out. Cost: O(1) a call as in paged.h; a request of beams adds O(n) a step.
// Source: Kwon et al., SOSP 2023, sec. 4.4 and 6.3.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/kv/allocator/allocator.h"
#include "sim/kv/beam_tree.h"

namespace blockyard::kv {

class PagedForks final : public Allocator {
 public:
  PagedForks(Blocks blocks, Tokens block_size, std::optional<BeamModel> beams);

  [[nodiscard]] std::string why_never(const SequenceNeed& need) const override;
  [[nodiscard]] std::int64_t decode_demand() const override { return buckets_[cursor_] + copies_due_; }
  [[nodiscard]] std::int64_t demand(SequenceId id, Tokens total) const override;
  [[nodiscard]] std::int64_t admission_demand(SequenceId id, const SequenceNeed& need, Tokens first) const override;
  [[nodiscard]] std::int64_t available() const override { return free_.count(); }
  [[nodiscard]] std::int64_t total_grains() const override { return total_.count(); }
  [[nodiscard]] MemoryPartition partition() const override;
  [[nodiscard]] Tokens largest_free() const override { return block_size_ * free_.count(); }
  [[nodiscard]] bool shares_blocks() const override { return true; }
  [[nodiscard]] BlockSharing sharing() const override { return {total_ - free_, unshared_}; }

  Blocks choose_parents() override;
  void forget(SequenceId id) override {
    if (index_of(id) < held_.size()) held_[index_of(id)].chosen = Tokens(0);
  }

 private:
  struct Held {
    Tokens prompt;
    std::int64_t width = 1;
    RequestId request{};
    bool beams = false;
    bool decoding = false;
    Tokens chosen;  // beams: the longest they were when they chose; a recomputation chooses nothing again
    BeamTree tree;  // beams: of what is written beyond the prompt
  };

  [[nodiscard]] const Held& held(SequenceId id) const { return held_[index_of(id)]; }
  [[nodiscard]] std::size_t bucket(Tokens written) const {
    return (static_cast<std::size_t>(written.count()) + cursor_) % buckets_.size();
  }
  [[nodiscard]] std::int64_t filled(Tokens written) const { return written.count() % block_size_.count(); }
  // Of a request without shared beams.
  [[nodiscard]] Blocks blocks_at(Tokens prompt, std::int64_t width, Tokens written) const;
  [[nodiscard]] std::int64_t live_at(const Held& h, Tokens written) const;
  [[nodiscard]] Blocks needed(const Held& h, Tokens from, Tokens to) const;
  // Copies that the request's next token takes.
  [[nodiscard]] std::int64_t copies_due(const Held& h, Tokens written) const;
  void count_due(const Held& h, Tokens written, std::int64_t sign);
  // Books what a request of beams writes; its blocks are taken.
  void write(Held& h, Tokens from, Tokens to);
  [[nodiscard]] bool room_for(Blocks n) const { return n <= free_; }

  Grant do_admit(SequenceId id, const SequenceNeed& need, Tokens first) override;
  Grant do_grow(SequenceId id, Tokens from, Tokens to) override;
  void do_release(SequenceId id, Tokens written) override;
  void do_start_decoding(SequenceId id, Tokens written) override;
  void do_stop_decoding(SequenceId id, Tokens written) override;
  Grant do_grow_decoding(std::span<const Growth> others) override;

  Tokens block_size_;
  std::optional<BeamModel> beams_;
  Blocks total_;
  Blocks free_;
  Blocks unshared_;
  std::int64_t live_ = 0;
  std::int64_t writing_ = 0;           // sequences that decode
  std::vector<std::int64_t> buckets_;  // of them, by written mod block size, as in paged.h
  std::size_t cursor_ = 0;
  std::int64_t copies_due_ = 0;        // copies that the next decode step takes
  std::int64_t copied_slots_due_ = 0;  // filled slots in them
  std::vector<Held> held_;
  std::vector<SequenceId> beam_requests_;  // admitted, in order of admission
  std::vector<std::int32_t> parents_;      // scratch
};

}  // namespace blockyard::kv
