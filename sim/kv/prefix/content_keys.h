// A key of 64 bits for every block of a content: equal for two blocks exactly if all tokens up to their ends are (but
// for collisions of the hash). Unlike a place in the content tree it stays the same after the content is gone. O(runs +
// blocks).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/base/content.h"
#include "sim/base/quantities.h"

namespace blockyard::kv {

inline std::int64_t full_blocks(const Content& content, Tokens block_size) {
  std::int64_t tokens = 0;
  for (const TokenRun& run : content) tokens += run.count;
  return tokens / block_size.count();
}

// Of the blocks of the content's first `tokens` tokens; a block cut short at their end has a key too. Runs are the same
// wherever blocks end, so that a key depends on the tokens before its end alone.
inline void block_keys(const Content& content, Tokens tokens, Tokens block_size, std::vector<std::uint64_t>& out) {
  const auto mixed = [](std::uint64_t hash, std::int64_t word) {
    hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
    return hash ^ (hash >> 27);
  };
  out.clear();
  std::uint64_t before = 1;  // of the whole runs so far
  std::int64_t begin = 0;    // of the run
  std::int64_t cut = std::min(block_size, tokens).count();
  for (const TokenRun& run : content) {
    for (; cut <= begin + run.count; cut = std::min(cut + block_size.count(), tokens.count())) {
      out.push_back(mixed(mixed(before, run.start), cut - begin));
      if (cut == tokens.count()) return;
    }
    before = mixed(mixed(before, run.start), run.count);
    begin += run.count;
  }
}

}  // namespace blockyard::kv
