// vLLM V0's GPU blocks. Ids 0 .. n - 1, no null block. Free blocks without a content form a list that is used from its
// front at both ends of a block's life: the block freed last is taken first. A block with a registered content goes to
// the evictor when its last owner leaves, and is taken from there only when the list is empty. A content is registered
// once: who fills a block that is there already gives up its own.
//
// A registered block counts as computed from settle() on, that is, after the step that registered it; one that comes
// back from the evictor does at once.
// Laws: owned + cached + free == blocks; a block is owned exactly if it has owners. Cost: O(1) a call, O(log n) where
// the evictor is touched. Source: vLLM 0.6.6, NaiveBlockAllocator and PrefixCachingBlockAllocator.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/memory_states.h"
#include "sim/kv/prefix/content_tree.h"
#include "sim/kv/v0/evictor.h"

namespace blockyard::kv {

class V0BlockPool {
 public:
  V0BlockPool(Blocks blocks, Tokens block_size);

  [[nodiscard]] std::int64_t free() const { return static_cast<std::int64_t>(list_.size()) + evictor_.size(); }
  [[nodiscard]] std::int64_t evictions() const { return evictions_; }
  [[nodiscard]] ContentTree& contents() { return contents_; }
  [[nodiscard]] const ContentTree& contents() const { return contents_; }

  // A block without a content, with one owner. There must be one free.
  BlockId take();
  // The block registered for this content, with one owner more; kNoBlock if there is none.
  BlockId share(NodeId node, std::int32_t position);
  // The block is full: registers its content, or gives it up for the one registered before. Returns what the owner has.
  BlockId seal(BlockId block, NodeId node, std::int32_t position);
  // One owner less; `last_access` is the step in which this owner was last scheduled.
  void release(BlockId block, std::int64_t last_access);

  [[nodiscard]] bool computed(NodeId node, std::int32_t position) const;
  void settle();

  // The ledger's part: the first `slots` slots of an owned block are written, or planned in the running step.
  void fill(BlockId block, std::int64_t slots);
  // live: written slots of owned blocks; reserved: owned blocks not begun; tail: the rest of those begun; cached: the
  // evictor's.
  [[nodiscard]] MemoryPartition partition() const;

  void free_list(std::vector<BlockId>& out) const;  // front to back, appended; without the evictor's. O(n)

 private:
  struct Block {
    NodeId node = kNoNode;  // its registered content
    std::int32_t position = 0;
    std::int32_t owners = 0;
    std::int32_t filled = 0;  // slots
    bool computed = false;
    std::int64_t last_access = -1;
  };

  void own(Block& b, std::int64_t filled);

  std::int64_t block_size_;
  std::vector<Block> blocks_;
  std::vector<BlockId> list_;  // its back is the engine's front
  V0Evictor evictor_;
  ContentTree contents_;
  std::vector<BlockId> unsettled_;
  std::int64_t owned_ = 0;
  std::int64_t not_begun_ = 0;  // owned blocks with nothing written
  std::int64_t live_ = 0;       // slots
  std::int64_t evictions_ = 0;
};

}  // namespace blockyard::kv
