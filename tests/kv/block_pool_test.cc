// The pool against the engine's own data structure: a plain list from which blocks leave at the head, or from the
// middle when touched.
#include "sim/kv/block_pool.h"

#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

using namespace blockyard;
using namespace blockyard::kv;

TEST_CASE("the free queue keeps the order of a plain list") {
  REQUIRE(rc::check([] {
    const std::int64_t n = *rc::gen::inRange(2, 12);
    BlockPool pool((Blocks(n)));
    std::vector<BlockId> queue;
    for (BlockId id = 1; id < static_cast<BlockId>(n); ++id) queue.push_back(id);
    std::vector<std::uint32_t> references(static_cast<std::size_t>(n), 0);
    const auto actions = *rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, 3), rc::gen::inRange(1, 1000)));
    std::vector<BlockId> seen;
    for (const auto& [action, which] : actions) {
      const auto block = static_cast<BlockId>(1 + which % (n - 1));
      if (action == 0 && !queue.empty()) {
        RC_ASSERT(pool.take() == queue.front());
        references[queue.front()] = 1;
        queue.erase(queue.begin());
      } else if (action == 1) {
        pool.touch(block);
        if (references[block]++ == 0) std::erase(queue, block);
      } else if (action == 2 && references[block] > 0) {
        RC_ASSERT(pool.give_back(block) == (--references[block] == 0));
        if (references[block] == 0) queue.push_back(block);
      }
      pool.free_queue(seen);
      RC_ASSERT(seen == queue);
      RC_ASSERT(pool.free().count() == static_cast<std::int64_t>(queue.size()));
      RC_ASSERT(pool.references(block) == references[block]);
    }
  }));
}
