#include "sim/base/quantities.h"

#include <catch2/catch.hpp>

using namespace blockyard;

TEST_CASE("a sequence of 100 tokens takes 7 blocks of 16") {
  CHECK(blocks_for(Tokens(100), Tokens(16)) == Blocks(7));
  CHECK(blocks_for(Tokens(96), Tokens(16)) == Blocks(6));
  CHECK(blocks_for(Tokens(97), Tokens(16)) == Blocks(7));
  CHECK(blocks_for(Tokens(0), Tokens(16)) == Blocks(0));
  CHECK(blocks_for(Tokens(1), Tokens(1)) == Blocks(1));
}

TEST_CASE("seconds become nanoseconds with one rounding") {
  CHECK(to_time(0.0000000014) == SimTime(1));
  CHECK(to_time(0.0000000015) == SimTime(2));
  CHECK(to_seconds(SimTime(1'500'000'000)) == 1.5);
}
