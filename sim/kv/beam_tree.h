// Whose blocks are whose in a beam search: the blocks of k beams beyond what all of them share, as columns of one
// position in the block table each.
//
// A beam writes into blocks of its own. After a step each of the k new beams takes over the past of one of the old
// ones, its parent; blocks of beams that nobody goes on from are free, and a partly filled block with several heirs is
// copied when they write (copy-on-write). So the copies of a column only ever become fewer, and once a single one is
// left it stays so.
//
// Model of the choice (BeamModel): a real search takes the k most likely of all continuations; who survives depends on
// probabilities that no trace records. Here each new beam, by itself, goes on from any of the k beams, drawn alike,
// with probability `switch_share`, and from its own else. 1 is the neutral case (Wright-Fisher reproduction of k lines,
// which meet in a common ancestor about 2 k (1 - 1/k) steps back); 0 is k independent samples.
//
// Laws: 1 <= copies of a column <= k, not falling from column to column; blocks() == the sum of them. Cost: O(k) a
// write, O(k x columns with more than one copy) a choice. Source of the mechanism: Kwon et al., SOSP 2023, sec. 4.4.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/quantities.h"

namespace blockyard::kv {

struct BeamModel {
  double switch_share = 1;
  std::uint64_t seed = 0;
};

class BeamTree {
 public:
  // k beams that share everything so far; `partial`: the last block of it is partly filled.
  void start(std::int64_t k, bool partial);

  // Blocks that writing takes before it begins a new block: the copies that are missing of the last one.
  [[nodiscard]] std::int64_t missing_copies() const { return columns_ == 0 ? 0 : k_ - copies_.back(); }
  // Every beam writes on in the last block, and makes its own of it.
  void write_on();
  // Every beam begins a block.
  void begin_block();

  // Beam b goes on from parents[b].
  void choose(const std::vector<std::int32_t>& parents);
  // Of the choice just made: copies of the last block, and of all others, that nobody holds any more.
  [[nodiscard]] std::int64_t freed_last() const { return freed_last_; }
  [[nodiscard]] std::int64_t freed_full() const { return freed_full_; }

  // Blocks that the beams hold beyond the full blocks that they shared at the start.
  [[nodiscard]] std::int64_t blocks() const { return settled_ + open_blocks_; }

 private:
  [[nodiscard]] std::int32_t* column(std::size_t i) { return holder_.data() + i * static_cast<std::size_t>(k_); }
  void settle();

  std::int64_t k_ = 0;
  std::int64_t settled_ = 0;          // columns of one copy, no longer kept
  std::int64_t open_blocks_ = 0;      // copies in the columns kept
  std::size_t columns_ = 0;           // kept; the last one always is
  std::vector<std::int32_t> holder_;  // by column and beam: the beam whose copy it holds
  std::vector<std::int64_t> copies_;  // by column
  std::vector<std::int32_t> scratch_;
  std::int64_t freed_last_ = 0;
  std::int64_t freed_full_ = 0;
};

}  // namespace blockyard::kv
