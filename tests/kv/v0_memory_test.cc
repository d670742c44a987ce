// vLLM V0's block tables: what they ask for, how they move between GPU and host, and what they find in the prefix
// cache.
#include "sim/kv/v0/memory.h"

#include <catch2/catch.hpp>
#include <map>

using namespace blockyard;
using namespace blockyard::kv;

namespace {

constexpr Tokens kBlockSize(4);
constexpr auto kA = static_cast<SequenceId>(0);
constexpr auto kB = static_cast<SequenceId>(1);
constexpr auto kC = static_cast<SequenceId>(2);

class Contents final : public ContentSource {
 public:
  void content_of(RequestId request, Content& out) override { out = contents[index_of(request)]; }
  std::map<std::size_t, Content> contents;
};

V0Memory plain(std::int64_t gpu, std::int64_t host = 0) { return V0Memory({Blocks(gpu), Blocks(host), kBlockSize}); }

RequestId request(SequenceId id) { return static_cast<RequestId>(index_of(id)); }

}  // namespace

TEST_CASE("the watermark is kept free at admission: floor(0.01 x blocks), 0 below a hundred") {
  V0Memory small = plain(99);
  CHECK(small.room_for(Tokens(99 * 4)) == Room::now);
  CHECK(small.room_for(Tokens(99 * 4 + 1)) == Room::never);

  V0Memory large = plain(200);
  CHECK(large.room_for(Tokens(198 * 4)) == Room::now);
  CHECK(large.room_for(Tokens(198 * 4 + 1)) == Room::never);
  large.admit(kA, Tokens(100 * 4));
  CHECK(large.room_for(Tokens(98 * 4)) == Room::now);
  CHECK(large.room_for(Tokens(98 * 4 + 1)) == Room::later);
}

TEST_CASE("a decode asks for a block even where its token fits, and a table without new tokens may ask for none") {
  V0Memory memory = plain(3);
  memory.admit(kA, Tokens(6));  // 2 blocks, room for 2 more tokens
  memory.admit(kB, Tokens(4));  // 1 block, full
  CHECK(memory.available() == 0);
  CHECK_FALSE(memory.can_append(kA, Tokens(7)));  // it would fit
  CHECK_FALSE(memory.can_append(kA, Tokens(6)));  // nothing new, but the last block is open
  CHECK(memory.can_append(kB, Tokens(4)));        // nothing new, and the last block is full
  memory.release(kB);
  CHECK(memory.can_append(kA, Tokens(7)));
  memory.append(kA, Tokens(7));
  CHECK(memory.available() == 1);
}

TEST_CASE("swapping moves a table in order: released first, then taken, each device's last freed first") {
  V0Memory memory = plain(4, 5);
  memory.admit(kA, Tokens(10));
  CHECK(memory.can_swap_out(kA, Tokens(11)));  // 2 full blocks and 1 touched
  CHECK(memory.swap_out(kA) == Blocks(3));
  CHECK(memory.block_table(kA) == std::vector<BlockId>{0, 1, 2});
  CHECK(memory.host_available() == 2);
  CHECK(memory.available() == 4);
  CHECK(memory.moves() == std::vector<std::pair<BlockId, BlockId>>{{0, 0}, {1, 1}, {2, 2}});

  memory.clear_moves();
  CHECK(memory.room_to_swap_in(kA, Tokens(11)) == Room::now);
  CHECK(memory.swap_in(kA) == Blocks(3));
  // The GPU blocks were freed 0, 1, 2: the last is taken first.
  CHECK(memory.moves() == std::vector<std::pair<BlockId, BlockId>>{{0, 2}, {1, 1}, {2, 0}});
  CHECK(memory.host_available() == 5);
}

TEST_CASE("the host pool needs the full blocks and what is touched") {
  V0Memory memory = plain(4, 2);
  memory.admit(kA, Tokens(8));
  CHECK_FALSE(memory.can_swap_out(kA, Tokens(9)));  // 2 full + 1 touched
  CHECK(memory.can_swap_out(kA, Tokens(8)));        // nothing new: 2 full + 0
}

TEST_CASE("what could never be swapped in loses its host blocks") {
  V0Memory memory = plain(3, 8);
  memory.admit(kA, Tokens(12));
  CHECK(memory.swap_out(kA) == Blocks(3));
  CHECK(memory.room_to_swap_in(kA, Tokens(13)) == Room::never);
  memory.forget(kA);
  CHECK(memory.host_available() == 5);
  CHECK(memory.host_lost() == 3);
}

TEST_CASE("cached tokens: the first answer stands until the table is released") {
  Contents contents;
  contents.contents[0] = {{100, 12}};
  contents.contents[1] = {{100, 20}};
  V0Memory memory({Blocks(10), Blocks(0), kBlockSize, 0.01, &contents});
  CHECK(memory.cached_tokens(kA, request(kA), Tokens(8), Tokens(12)) == Tokens(0));
  memory.admit(kA, Tokens(8));
  // Registered, but not computed before the step has ended.
  CHECK(memory.cached_tokens(kB, request(kB), Tokens(12), Tokens(20)) == Tokens(0));
  memory.plan(kA, Tokens(8), 1);
  memory.end_of_schedule();
  CHECK(memory.cached_tokens(kB, request(kB), Tokens(12), Tokens(20)) == Tokens(0));
  memory.admit(kB, Tokens(12));  // shares all the same
  CHECK(memory.block_table(kB)[1] == memory.block_table(kA)[1]);
  memory.release(kB);
  // Its own third block as well: nobody owns it now, so it counts as computed, although it never was.
  CHECK(memory.cached_tokens(kB, request(kB), Tokens(12), Tokens(20)) == Tokens(12));
}

TEST_CASE("a full hit has no last token left out") {
  Contents contents;
  contents.contents[0] = contents.contents[1] = {{100, 12}};
  V0Memory memory({Blocks(10), Blocks(0), kBlockSize, 0.01, &contents});
  (void)memory.cached_tokens(kA, request(kA), Tokens(8), Tokens(12));
  memory.admit(kA, Tokens(8));
  memory.end_of_schedule();
  CHECK(memory.cached_tokens(kB, request(kB), Tokens(8), Tokens(12)) == Tokens(8));
}

TEST_CASE("the computed prefix is bisected: a hole may hide what lies before it, or be overlooked") {
  Contents contents;
  for (std::size_t i = 0; i < 3; ++i) contents.contents[i] = {{100, 16}};
  V0Memory memory({Blocks(5), Blocks(0), kBlockSize, 0.0, &contents});
  (void)memory.cached_tokens(kA, request(kA), Tokens(16), Tokens(16));
  memory.admit(kA, Tokens(16));
  memory.end_of_schedule();
  memory.plan(kA, Tokens(16), 1);
  (void)memory.cached_tokens(kB, request(kB), Tokens(8), Tokens(16));
  memory.admit(kB, Tokens(8));
  memory.plan(kB, Tokens(8), 9);
  memory.release(kA);  // blocks 2 and 3 may be evicted, as of step 1: 3, the deeper, first
  memory.release(kB);  // blocks 0 and 1 as of step 9
  CHECK(memory.available() == 5);
  // 1 free block and 2 evictions: blocks 3 and 2 of the chain.
  contents.contents[2] = {{900, 12}};
  (void)memory.cached_tokens(kC, request(kC), Tokens(12), Tokens(12));
  memory.admit(kC, Tokens(12));
  CHECK(memory.evictions() == 2);
  // Of 4 blocks 0 and 1 are there; the look starts at 2, then at 1.
  CHECK(memory.cached_tokens(kA, request(kA), Tokens(16), Tokens(16)) == Tokens(8));
}

TEST_CASE("a request without a stated content shares with no one, not even with its like") {
  Contents contents;
  V0Memory memory({Blocks(10), Blocks(0), kBlockSize, 0.01, &contents});
  for (const SequenceId id : {kA, kB}) {
    CHECK(memory.cached_tokens(id, request(id), Tokens(8), Tokens(12)) == Tokens(0));
    memory.admit(id, Tokens(8));
    memory.end_of_schedule();
  }
  CHECK(memory.available() == 6);
  CHECK(memory.registered_hashes() == 4);
}

TEST_CASE("what could never be served is named with its reason") {
  V0Memory memory = plain(200);
  CHECK(memory.why_never({Tokens(100), Tokens(800), Tokens(900)}).empty());
  CHECK(memory.why_never({Tokens(100), Tokens(801), Tokens(900)}) == "needs 201 blocks of 4 tokens, the pool has 200");
  CHECK_FALSE(memory.why_never({Tokens(793), Tokens(793), Tokens(793)}).empty());
}
