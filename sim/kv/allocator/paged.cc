#include "sim/kv/allocator/paged.h"

namespace blockyard::kv {

Paged::Paged(Blocks blocks, Tokens block_size)
    : Allocator(block_size * blocks.count()),
      block_size_(block_size),
      total_(blocks),
      free_(blocks),
      decoding_(1, Counts(block_size)) {}

std::string Paged::why_never(const SequenceNeed& need) const {
  const Blocks blocks = blocks_for(need.true_end, block_size_);
  if (blocks <= total_) return "";
  return fmt::format("needs {} blocks of {} tokens, the pool has {}", blocks.count(), block_size_.count(),
                     total_.count());
}

std::int64_t Paged::demand(SequenceId id, Tokens total) const {
  return (blocks_for(total, block_size_) - blocks_for(written(id), block_size_)).count();
}

std::int64_t Paged::admission_demand(SequenceId /*id*/, const SequenceNeed& /*need*/, Tokens first) const {
  return blocks_for(first, block_size_).count();
}

Grant Paged::take(Blocks n) {
  if (n > free_) return Grant::no_space;
  free_ -= n;
  used_ += n;
  return Grant::granted;
}

Grant Paged::do_admit(SequenceId /*id*/, const SequenceNeed& /*need*/, Tokens first) {
  return take(blocks_for(first, block_size_));
}

Grant Paged::do_grow(SequenceId /*id*/, Tokens from, Tokens to) {
  return take(blocks_for(to, block_size_) - blocks_for(from, block_size_));
}

void Paged::do_release(SequenceId /*id*/, Tokens written) {
  const Blocks n = blocks_for(written, block_size_);
  CHECK_LAW(n <= used_, "releases {} blocks, used {}", n.count(), used_.count());
  free_ += n;
  used_ -= n;
}

void Paged::do_shrink(SequenceId /*id*/, Tokens from, Tokens to) {
  const Blocks n = blocks_for(from, block_size_) - blocks_for(to, block_size_);
  free_ += n;
  used_ -= n;
}

Grant Paged::do_grow_decoding(std::span<const Growth> others) {
  Blocks n(decode_demand());
  for (const Growth& growth : others) n += Blocks(demand(growth.id, growth.total));
  const Grant grant = take(n);
  if (grant == Grant::granted) decoding_[index_of(cohort())].advance();
  return grant;
}

MemoryPartition Paged::partition() const {
  CHECK_LAW(free_ + used_ == total_, "free {} + used {} != {}", free_.count(), used_.count(), total_.count());
  MemoryPartition p;
  p[MemoryState::live] = total_written().count();
  p[MemoryState::tail] = used_.count() * block_size_.count() - total_written().count();
  p[MemoryState::free] = free_.count() * block_size_.count();
  return p;
}

}  // namespace blockyard::kv
