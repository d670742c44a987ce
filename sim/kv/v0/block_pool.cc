#include "sim/kv/v0/block_pool.h"

#include "sim/base/check.h"

namespace blockyard::kv {

V0BlockPool::V0BlockPool(Blocks blocks, Tokens block_size)
    : block_size_(block_size.count()),
      blocks_(static_cast<std::size_t>(blocks.count())),
      evictor_(blocks),
      contents_(block_size) {
  list_.reserve(blocks_.size());
  for (std::size_t i = blocks_.size(); i-- > 0;) list_.push_back(static_cast<BlockId>(i));
}

void V0BlockPool::own(Block& b, std::int64_t filled) {
  b.owners = 1;
  b.filled = static_cast<std::int32_t>(filled);
  b.last_access = -1;
  ++owned_;
  live_ += filled;
  if (filled == 0) ++not_begun_;
}

BlockId V0BlockPool::take() {
  BlockId block = kNoBlock;
  if (!list_.empty()) {
    block = list_.back();
    list_.pop_back();
  } else {
    block = evictor_.evict();
    contents_.withdraw(blocks_[block].node, blocks_[block].position, block);
    blocks_[block].node = kNoNode;
    ++evictions_;
  }
  blocks_[block].computed = false;
  own(blocks_[block], 0);
  return block;
}

BlockId V0BlockPool::share(NodeId node, std::int32_t position) {
  const BlockId block = contents_.find(node, position);
  if (block == kNoBlock) return block;
  Block& b = blocks_[block];
  if (b.owners > 0) {
    ++b.owners;
  } else {
    evictor_.remove(block);
    b.computed = true;
    own(b, block_size_);
  }
  return block;
}

BlockId V0BlockPool::seal(BlockId block, NodeId node, std::int32_t position) {
  Block& b = blocks_[block];
  CHECK_LAW(b.owners == 1 && b.node == kNoNode, "block {} with {} owners is sealed", block, b.owners);
  if (contents_.find(node, position) != kNoBlock) {
    release(block, b.last_access);
    return share(node, position);
  }
  b.node = node;
  b.position = position;
  contents_.publish(node, position, block);
  unsettled_.push_back(block);
  return block;
}

void V0BlockPool::release(BlockId block, std::int64_t last_access) {
  Block& b = blocks_[block];
  CHECK_LAW(b.owners > 0, "block {} is released once too often", block);
  b.last_access = last_access;
  if (--b.owners > 0) return;
  --owned_;
  live_ -= b.filled;
  if (b.filled == 0) --not_begun_;
  b.filled = 0;
  if (b.node == kNoNode) {
    list_.push_back(block);
  } else {
    evictor_.add(block, last_access, (b.position + 1) * block_size_);
  }
}

bool V0BlockPool::computed(NodeId node, std::int32_t position) const {
  const BlockId block = contents_.find(node, position);
  return block != kNoBlock && (blocks_[block].owners == 0 || blocks_[block].computed);
}

void V0BlockPool::settle() {
  for (const BlockId block : unsettled_) blocks_[block].computed = true;
  unsettled_.clear();
}

void V0BlockPool::fill(BlockId block, std::int64_t slots) {
  Block& b = blocks_[block];
  CHECK_LAW(b.owners > 0 && slots <= block_size_, "{} slots of block {} with {} owners are filled", slots, block,
            b.owners);
  if (slots <= b.filled) return;
  if (b.filled == 0) --not_begun_;
  live_ += slots - b.filled;
  b.filled = static_cast<std::int32_t>(slots);
}

MemoryPartition V0BlockPool::partition() const {
  CHECK_LAW(owned_ + free() == static_cast<std::int64_t>(blocks_.size()), "owned {} + free {} != {}", owned_, free(),
            blocks_.size());
  MemoryPartition p;
  p[MemoryState::live] = live_;
  p[MemoryState::reserved] = not_begun_ * block_size_;
  p[MemoryState::tail] = (owned_ - not_begun_) * block_size_ - live_;
  p[MemoryState::cached] = evictor_.size() * block_size_;
  p[MemoryState::free] = static_cast<std::int64_t>(list_.size()) * block_size_;
  return p;
}

void V0BlockPool::free_list(std::vector<BlockId>& out) const { out.insert(out.end(), list_.rbegin(), list_.rend()); }

}  // namespace blockyard::kv
