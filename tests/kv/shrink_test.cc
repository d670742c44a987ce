// Paged memory gives back the last blocks of a sequence, and the host pool counts what it took.
#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "sim/kv/allocator/strategies.h"
#include "sim/kv/host_pool.h"

using namespace blockyard;
using namespace blockyard::kv;

TEST_CASE("a sequence that shrinks frees whole blocks, and grows again as if it had never been longer") {
  REQUIRE(rc::check([] {
    const Tokens block_size(*rc::gen::inRange(1, 20));
    const auto paged = make_allocator("paged", {block_size * 100, block_size, Tokens(2000), "", ""});
    Tokens written(*rc::gen::inRange<std::int64_t>(1, 50 * block_size.count()));
    REQUIRE(paged->admit(SequenceId{0}, {written, written, written}, written) == Grant::granted);
    for (const int percent : *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 200))) {
      const Tokens to(std::clamp<std::int64_t>(written.count() * percent / 100, 1, 100 * block_size.count()));
      if (to <= written) {
        paged->shrink(SequenceId{0}, to);
      } else {
        REQUIRE(paged->grow(SequenceId{0}, to) == Grant::granted);
      }
      written = to;
      RC_ASSERT(paged->written(SequenceId{0}) == written);
      RC_ASSERT(paged->available() == 100 - blocks_for(written, block_size).count());
      RC_ASSERT(paged->held_grains(SequenceId{0}) == blocks_for(written, block_size).count());
      RC_ASSERT(paged->partition().total() == paged->capacity().count());
      RC_ASSERT(paged->partition()[MemoryState::live] == written.count());
    }
    paged->release(SequenceId{0});
    RC_ASSERT(paged->available() == 100);
  }));
}

TEST_CASE("a host pool adds up") {
  HostPool pool(Blocks(10));
  pool.take(Blocks(4));
  pool.take(Blocks(6));
  CHECK(pool.free() == Blocks(0));
  pool.give_back(Blocks(5));
  CHECK(pool.used() == Blocks(5));
  CHECK(pool.used() + pool.free() == pool.capacity());
}
