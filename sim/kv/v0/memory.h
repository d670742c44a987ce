// vLLM V0's block manager: block tables over a GPU pool and a host pool. A table covers all tokens of a sequence from
// its admission on, computed or not, and grows by the token that a decode appends. Questions come before deeds: every
// deed assumes that its question was answered with room.
//
// `touched` counts blocks as the engine does, in the worst case: a decode asks for a block though its last one has
// room. The watermark is kept free by admission and by swap-in, not by decodes nor on the host. Swapping moves whole
// tables, in order, and is not combined with prefix caching. Laws: the GPU pool's (block_pool.h); host blocks used +
// free == host blocks. Cost: O(1 + blocks moved); a look for cached tokens O(log blocks). Source: vLLM 0.6.6,
// SelfAttnBlockSpaceManager, BlockTable, ComputedBlocksTracker.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/ids.h"
#include "sim/kv/allocator/allocator.h"
#include "sim/kv/content.h"
#include "sim/kv/memory.h"
#include "sim/kv/v0/block_pool.h"

namespace blockyard::kv {

struct V0MemoryOptions {
  Blocks gpu_blocks;
  Blocks host_blocks;
  Tokens block_size;
  double watermark = 0.01;            // share of the GPU blocks
  ContentSource* contents = nullptr;  // with prefix caching; outlives the memory
};

enum class Room { now, later, never };

class V0Memory final : public Memory {
 public:
  explicit V0Memory(const V0MemoryOptions& options);

  [[nodiscard]] bool prefix_caching() const { return options_.contents != nullptr; }
  // Why the sequence could never be served whole, "" if it could.
  [[nodiscard]] std::string why_never(const SequenceNeed& need) const override;
  [[nodiscard]] std::int64_t whole_demand(const SequenceNeed& need) const override {
    return blocks_for(need.true_end, options_.block_size).count();
  }

  // Leading tokens of a sequence in its prefill stage that are computed already. The first answer stands until the
  // table is released, even while the sequence only waits. `longest`: more than it will ever hold.
  Tokens cached_tokens(SequenceId id, RequestId request, Tokens length, Tokens longest);
  [[nodiscard]] Tokens memorised(SequenceId id) const { return held_[index_of(id)].memorised; }

  // What a chunk may take of `budget`: with prefix caching, whole blocks only.
  [[nodiscard]] Tokens whole_blocks_of(Tokens budget) const {
    return prefix_caching() ? Tokens(budget.count() / block_size_ * block_size_) : budget;
  }

  [[nodiscard]] Room room_for(Tokens length) const;
  void admit(SequenceId id, Tokens length);

  [[nodiscard]] bool can_append(SequenceId id, Tokens length) const { return touched(id, length) <= pool_.free(); }
  void append(SequenceId id, Tokens length);

  [[nodiscard]] bool can_swap_out(SequenceId id, Tokens length) const;
  Blocks swap_out(SequenceId id);
  [[nodiscard]] Room room_to_swap_in(SequenceId id, Tokens length) const;
  Blocks swap_in(SequenceId id);

  // Tokens [0, computed) are written, or planned in step number `step`.
  void plan(SequenceId id, Tokens computed, std::int64_t step);
  void end_of_schedule() { pool_.settle(); }

  void release(SequenceId id);  // the table, wherever it is
  void forget(SequenceId id);   // the sequence ends for good; host blocks that it still has are lost, as in the engine

  [[nodiscard]] Tokens capacity() const override { return options_.block_size * options_.gpu_blocks.count(); }
  [[nodiscard]] std::int64_t available() const override { return pool_.free(); }
  [[nodiscard]] std::int64_t total_grains() const override { return options_.gpu_blocks.count(); }
  [[nodiscard]] MemoryPartition partition() const override { return pool_.partition(); }
  [[nodiscard]] Tokens largest_free() const override { return options_.block_size * pool_.free(); }
  [[nodiscard]] std::int64_t host_available() const { return static_cast<std::int64_t>(host_.size()); }
  // Those lost for ever count as used.
  [[nodiscard]] Blocks host_used() const { return options_.host_blocks - Blocks(host_available()); }
  [[nodiscard]] std::int64_t host_lost() const { return host_lost_; }

  // The state behind the decisions, for comparison with recorded runs.
  void free_list(std::vector<BlockId>& out) const { pool_.free_list(out); }
  [[nodiscard]] const std::vector<BlockId>& block_table(SequenceId id) const { return held_[index_of(id)].table; }
  [[nodiscard]] std::int64_t registered_hashes() const { return pool_.contents().registered(); }
  [[nodiscard]] std::int64_t evictions() const { return pool_.evictions(); }
  // (source, destination) of the blocks moved since the last clear_moves(); ids count from 0 on each device.
  [[nodiscard]] const std::vector<std::pair<BlockId, BlockId>>& moves() const { return moves_; }
  void clear_moves() { moves_.clear(); }

 private:
  struct Held {
    std::vector<BlockId> table;
    Tokens slots;  // tokens that the table covers
    bool on_host = false;
    Path path;  // with prefix caching: its content
    Tokens memorised{-1};
    Tokens written;
    std::int64_t last_step = -1;
  };

  Held& held(SequenceId id);
  [[nodiscard]] std::int64_t touched(SequenceId id, Tokens length) const;
  [[nodiscard]] std::int64_t moved(SequenceId id, Tokens length) const;
  void make_path(Held& h, RequestId request, Tokens longest);
  [[nodiscard]] static NodeId node_at(const Held& h, std::int32_t position);

  V0MemoryOptions options_;
  std::int64_t block_size_;
  std::int64_t watermark_blocks_;
  V0BlockPool pool_;
  std::vector<BlockId> host_;  // free host blocks; its back is the engine's front
  std::int64_t host_lost_ = 0;
  std::vector<Held> held_;
  std::vector<std::pair<BlockId, BlockId>> moves_;
  Content content_;  // scratch of make_path
};

}  // namespace blockyard::kv
