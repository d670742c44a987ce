// A pool of named KV blocks with reference counts and the engine's free queue: blocks are taken from its head, those
// freed join its tail, and a free block whose content is found again leaves it from the middle. The queue is a ring of
// ids in which a block that left leaves a gap; the ring is closed up when it is full, so that every call is amortised
// O(1). Law: free + used == capacity; a block is free exactly if its count is 0 (and nobody keeps it aside). Source:
// vLLM 0.13, BlockPool and FreeKVCacheBlockQueue. Block 0 is the engine's null block: it is never handed out.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/check.h"
#include "sim/base/quantities.h"
#include "sim/kv/prefix/content_tree.h"

namespace blockyard::kv {

// Where a block's content stands in the content tree; kNoNode = it holds no known content. The pool itself never looks
// at it: it lies here because whoever takes or frees a block needs it at once.
struct BlockContent {
  NodeId node = kNoNode;
  std::int32_t position = 0;
};

class BlockPool {
 public:
  // `blocks` with the null block: ids 1 .. blocks - 1 are handed out, in this order at first.
  explicit BlockPool(Blocks blocks);

  [[nodiscard]] Blocks capacity() const { return Blocks(static_cast<std::int64_t>(blocks_.size()) - 1); }
  [[nodiscard]] Blocks free() const { return Blocks(free_); }
  [[nodiscard]] std::uint32_t references(BlockId block) const { return blocks_[block].references; }
  [[nodiscard]] BlockContent& content(BlockId block) { return blocks_[block].content; }

  // The head of the free queue, with one reference. There must be one.
  BlockId take() {
    CHECK_LAW(free_ > 0, "a block is taken from an empty pool");
    while (ring_[head_ & mask_] == kNoBlock) ++head_;
    const BlockId block = ring_[head_ & mask_];
    ++head_;
    --free_;
    blocks_[block].references = 1;
    return block;
  }

  // One reference more; a free block leaves the queue.
  void touch(BlockId block) {
    if (blocks_[block].references++ == 0) {
      ring_[blocks_[block].place] = kNoBlock;
      --free_;
    }
  }

  // One reference less; true if the block has joined the free queue.
  bool give_back(BlockId block) {
    CHECK_LAW(blocks_[block].references > 0, "block {} is given back once too often", block);
    if (--blocks_[block].references > 0) return false;
    push(block);
    return true;
  }

  // For an owner that keeps idle blocks itself (an eviction policy does): a reference more or less that leaves the
  // queue alone, true if none is left; and the return of such a block to the queue.
  void share(BlockId block) { ++blocks_[block].references; }
  bool unshare(BlockId block) {
    CHECK_LAW(blocks_[block].references > 0, "block {} is given back once too often", block);
    return --blocks_[block].references == 0;
  }
  void join_queue(BlockId block) { push(block); }

  // Head to tail. O(capacity).
  void free_queue(std::vector<BlockId>& out) const;

 private:
  struct Block {
    std::uint32_t references = 0;
    std::uint32_t place = 0;  // in the ring, of a free block
    BlockContent content;
  };

  void push(BlockId block) {
    if (tail_ - head_ > mask_) close_up();
    blocks_[block].place = static_cast<std::uint32_t>(tail_ & mask_);
    ring_[tail_ & mask_] = block;
    ++tail_;
    ++free_;
  }
  void close_up();

  std::vector<BlockId> ring_;  // a power of two, at least twice the capacity
  std::uint64_t mask_ = 0;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
  std::int64_t free_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace blockyard::kv
