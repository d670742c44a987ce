// The block tables of a model whose layers do not all keep the same past: layers stand in groups of equal size
// (model/kv_layout.h), and each group has a table of its own in every sequence. What a table takes follows from its
// layers:
//
//   they look back at everything    ceil(n / block) blocks for n tokens
//   at a window                     likewise, but those that have fallen out of it as a whole are freed when the
//                                   sequence grows next: with c tokens computed, the first
//                                   floor((c - window + 1) / block) of them
//   they keep a recurrent state     one block from the first token to the end
//
// Source: vLLM 0.13, v1/core/single_type_kv_cache_manager.py.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/base/quantities.h"

namespace blockyard::kv {

// Block tables alike that each sequence has.
struct BlockTables {
  Tokens window;            // 0 = its layers look back at everything
  std::int64_t count = 0;   // of the tables
  Tokens block;             // tokens a block; 0 = a recurrent state, one block a table
  std::int64_t pieces = 0;  // used in all the tables together: by a token, or by the state
};

// Blocks of one table that `tokens` have taken since the beginning.
[[nodiscard]] inline std::int64_t taken_at(const BlockTables& t, Tokens tokens) {
  if (t.block == Tokens(0)) return tokens > Tokens(0) ? 1 : 0;
  return blocks_for(tokens, t.block).count();
}

// Of those, the ones that have been freed by a sequence that grows when `computed` tokens are computed.
[[nodiscard]] inline std::int64_t freed_at(const BlockTables& t, Tokens computed) {
  const std::int64_t out = (computed - t.window).count() + 1;
  return t.window > Tokens(0) && out > 0 ? out / t.block.count() : 0;
}

// Blocks of one table that a sequence of `end` tokens holds at most, grown by at most `longest_chunk` at once. Before a
// step frees what has left the window, a table holds the window, less the token that comes next, and a chunk; both may
// lie across one block more.
[[nodiscard]] inline std::int64_t most_held(const BlockTables& t, Tokens end, Tokens longest_chunk) {
  const std::int64_t most = taken_at(t, end);
  return t.window > Tokens(0) ? std::min(most, taken_at(t, t.window - Tokens(1) + longest_chunk) + 1) : most;
}

// The least number of tokens, from `computed` on, whose next token takes or frees a block of the table.
[[nodiscard]] inline std::int64_t next_change(const BlockTables& t, Tokens computed) {
  const std::int64_t size = t.block.count();
  if (size == 0) return INT64_MAX;
  const auto up = [&](std::int64_t n) { return (n + size - 1) / size * size; };
  const std::int64_t next = up(computed.count());
  if (t.window == Tokens(0)) return next;
  const std::int64_t before = t.window.count() - 1;  // tokens that stay
  return std::min(next, before + std::max(size, up(computed.count() - before)));
}

}  // namespace blockyard::kv
