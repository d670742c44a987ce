// Random reference strings for the tests of the cache: chains from a small random forest, or unrelated keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/base/random.h"
#include "sim/kv/cache/reference_string.h"

namespace blockyard::kv {

// `requests` walks from a root downwards; nodes are numbered as they are first met. Popular branches exist: low numbers
// are drawn more often. The first `before` of them ask for nothing.
inline ReferenceString random_forest(RandomStream& random, std::int64_t requests, std::int64_t roots,
                                     std::int64_t fan_out, std::int64_t longest, Lookup lookup = Lookup::raw,
                                     std::int64_t before = 0) {
  const Tokens block(4);
  ReferenceString references(block, lookup);
  const auto skewed = [&](std::int64_t n) { return std::min(random.integer(0, n - 1), random.integer(0, n - 1)); };
  std::vector<std::int64_t> ids;
  for (std::int64_t r = 0; r < requests; ++r) {
    ids.clear();
    std::int64_t node = 1 + skewed(roots);
    for (std::int64_t length = random.integer(1, longest); length > 0; --length) {
      ids.push_back(node);
      node = node * (fan_out + roots + 1) + skewed(fan_out);
    }
    // Sometimes the last block is not full.
    const std::int64_t full = static_cast<std::int64_t>(ids.size()) * block.count();
    const Tokens prompt(full - (ids.back() % 3 == 0 ? 1 : 0));
    const auto category = static_cast<std::uint32_t>(ids.front() % 3);
    if (r < before) {
      references.add_before(ids, prompt, category);
    } else {
      references.add(ids, prompt, SimTime(r * kNanosecondsPerSecond), category);
    }
  }
  return references;
}

// Single blocks: `keys` keys, low ones more often, with some scans.
inline std::vector<std::int64_t> random_keys(RandomStream& random, std::int64_t count, std::int64_t keys) {
  std::vector<std::int64_t> all;
  std::int64_t scan = keys;
  while (static_cast<std::int64_t>(all.size()) < count) {
    if (random.integer(0, 9) == 0) {
      for (int i = 0; i < 5; ++i) all.push_back(scan++ % (3 * keys));
    } else {
      all.push_back(std::min({random.integer(0, keys - 1), random.integer(0, keys - 1), random.integer(0, keys - 1)}));
    }
  }
  all.resize(static_cast<std::size_t>(count));
  return all;
}

inline ReferenceString single_blocks(const std::vector<std::int64_t>& keys) {
  ReferenceString references(Tokens(1), Lookup::raw);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    references.add({&keys[i], 1}, Tokens(1), SimTime(static_cast<std::int64_t>(i) * kNanosecondsPerSecond), 0);
  }
  return references;
}

}  // namespace blockyard::kv
