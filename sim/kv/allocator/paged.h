// Paged KV memory: blocks of `block_size` tokens on demand, counted, not named (their identity decides nothing here).
// Law: free + used == total blocks. The only waste is the tail of each sequence's last block: at most block_size - 1
// slots. Decoding sequences are counted in buckets by (written mod block_size) (decode_buckets.h): the size of one
// bucket is the number of blocks that the next step takes. All calls O(1). Source: Kwon et al., SOSP 2023, sec. 4. The
// engine's null block is the caller's affair: give the usable blocks.
#pragma once

#include "sim/kv/allocator/allocator.h"
#include "sim/kv/allocator/decode_buckets.h"

namespace blockyard::kv {

class Paged final : public Allocator {
 public:
  Paged(Blocks blocks, Tokens block_size);

  [[nodiscard]] std::string why_never(const SequenceNeed& need) const override;
  [[nodiscard]] bool decodes_by_turns() const override { return true; }
  [[nodiscard]] std::int64_t decode_demand() const override { return decoding_[index_of(cohort())].taking(); }
  [[nodiscard]] std::int64_t demand(SequenceId id, Tokens total) const override;
  [[nodiscard]] std::int64_t admission_demand(SequenceId /*id*/, const SequenceNeed& need, Tokens first) const override;
  [[nodiscard]] std::int64_t held_grains(SequenceId id) const override {
    return blocks_for(written(id), block_size_).count();
  }
  [[nodiscard]] std::int64_t available() const override { return free_.count(); }
  [[nodiscard]] std::int64_t total_grains() const override { return total_.count(); }
  [[nodiscard]] MemoryPartition partition() const override;
  [[nodiscard]] Tokens largest_free() const override { return block_size_ * free_.count(); }

 private:
  using Counts = DecodeBuckets<std::int64_t>;

  Grant take(Blocks n);
  Grant do_admit(SequenceId id, const SequenceNeed& need, Tokens first) override;
  Grant do_grow(SequenceId id, Tokens from, Tokens to) override;
  void do_release(SequenceId id, Tokens written) override;
  void do_shrink(SequenceId id, Tokens from, Tokens to) override;
  void do_start_decoding(SequenceId id, Tokens written) override {
    ++decoding_[index_of(cohort())].of(written);
    (void)id;
  }
  void do_stop_decoding(SequenceId id, Tokens written) override {
    --decoding_[index_of(cohort())].of(written);
    (void)id;
  }
  Grant do_grow_decoding(std::span<const Growth> others) override;
  void set_cohorts(std::size_t cohorts) override { decoding_.resize(cohorts, Counts(block_size_)); }

  Tokens block_size_;
  Blocks total_;
  Blocks free_;
  Blocks used_;
  std::vector<Counts> decoding_;  // by cohort
};

}  // namespace blockyard::kv
