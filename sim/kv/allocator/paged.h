// Paged KV memory: blocks of `block_size` tokens on demand, counted, not named (their identity decides nothing here).
// Law: free + used == total blocks. The only waste is the tail of each sequence's last block: at most block_size - 1
// slots. Decoding sequences stand in buckets by (written mod block_size), seen from a common step count: a bucket is
// fixed while its sequences decode, and the size of one bucket is the number of blocks that the next step takes. All
// calls O(1). Source: Kwon et al., SOSP 2023, sec. 4. The engine's null block is the caller's affair: give the usable
// blocks.
#pragma once

#include "sim/kv/allocator/allocator.h"

namespace blockyard::kv {

class Paged final : public Allocator {
 public:
  Paged(Blocks blocks, Tokens block_size);

  [[nodiscard]] std::string why_never(const SequenceNeed& need) const override;
  [[nodiscard]] std::int64_t decode_demand() const override { return buckets_[cursor_]; }
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
  Grant take(Blocks n);
  Grant do_admit(SequenceId id, const SequenceNeed& need, Tokens first) override;
  Grant do_grow(SequenceId id, Tokens from, Tokens to) override;
  void do_release(SequenceId id, Tokens written) override;
  void do_start_decoding(SequenceId id, Tokens written) override {
    ++buckets_[bucket(written)];
    (void)id;
  }
  void do_stop_decoding(SequenceId id, Tokens written) override {
    --buckets_[bucket(written)];
    (void)id;
  }
  Grant do_grow_decoding(std::span<const Growth> others) override;
  [[nodiscard]] std::size_t bucket(Tokens written) const {
    return (static_cast<std::size_t>(written.count()) + cursor_) % buckets_.size();
  }

  Tokens block_size_;
  Blocks total_;
  Blocks free_;
  Blocks used_;
  std::vector<std::int64_t> buckets_;
  std::size_t cursor_ = 0;  // (-decode steps) mod block_size: the bucket whose sequences stand at a block's end
};

}  // namespace blockyard::kv
