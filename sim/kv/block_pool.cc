#include "sim/kv/block_pool.h"

#include <bit>

namespace blockyard::kv {

BlockPool::BlockPool(Blocks blocks)
    : ring_(std::bit_ceil(2 * static_cast<std::size_t>(blocks.count())), kNoBlock),
      mask_(ring_.size() - 1),
      blocks_(static_cast<std::size_t>(blocks.count())) {
  for (std::int64_t id = 1; id < blocks.count(); ++id) push(static_cast<BlockId>(id));
}

void BlockPool::close_up() {
  std::uint64_t to = head_;
  for (std::uint64_t from = head_; from < tail_; ++from) {
    const BlockId block = ring_[from & mask_];
    if (block == kNoBlock) continue;
    ring_[to & mask_] = block;
    blocks_[block].place = static_cast<std::uint32_t>(to & mask_);
    ++to;
  }
  tail_ = to;
}

void BlockPool::free_queue(std::vector<BlockId>& out) const {
  out.clear();
  for (std::uint64_t at = head_; at < tail_; ++at) {
    if (ring_[at & mask_] != kNoBlock) out.push_back(ring_[at & mask_]);
  }
}

}  // namespace blockyard::kv
