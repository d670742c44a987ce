// Closed forms of the allocators. The laws that all of them obey are in conformance_test.cc.
#include "sim/kv/allocator/allocator.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "sim/kv/allocator/strategies.h"
#include "sim/kv/allocator/virtual.h"

using namespace blockyard;
using namespace blockyard::kv;

namespace {

constexpr Tokens kMaxModelLen(64);

SequenceNeed need_of(std::int64_t prompt, std::int64_t output) {
  const Tokens end(prompt + output - 1);
  return {Tokens(prompt), end, end};
}

}  // namespace

TEST_CASE("the tail of paged memory is less than a block for each sequence") {
  REQUIRE(rc::check([](std::vector<std::uint8_t> lengths) {
    const Tokens block_size(16);
    const auto paged = make_allocator("paged", {block_size * 4096, block_size, kMaxModelLen, "oracle", "buddy"});
    std::uint32_t number = 0;
    for (const std::uint8_t length : lengths) {
      const Tokens n(1 + length);
      RC_ASSERT(paged->admit(static_cast<SequenceId>(number++), {n, n, n}, n) == Grant::granted);
    }
    RC_ASSERT(paged->partition()[MemoryState::tail] <= 15 * static_cast<std::int64_t>(lengths.size()));
  }));
}

// Worked out: max_model_len 64 on 256 slots. A prompt of 10 that writes 14 in all: live 10, reserved 4, over_reserved
// 50, padding 0.
TEST_CASE("the ledger of one contiguous region") {
  const auto arena = make_allocator("contiguous", {Tokens(256), Tokens(16), Tokens(64), "max_model_len", "buddy"});
  REQUIRE(arena->admit(SequenceId{0}, {Tokens(10), Tokens(14), Tokens(20)}, Tokens(10)) == Grant::granted);
  const MemoryPartition p = arena->partition();
  CHECK(p[MemoryState::live] == 10);
  CHECK(p[MemoryState::reserved] == 4);
  CHECK(p[MemoryState::over_reserved] == 50);
  CHECK(p[MemoryState::padding] == 0);
  CHECK(p[MemoryState::free] == 192);
}

// Worked out: 10 prompt tokens and an output of 25 write 34; the output is taken for 32, so 41 are reserved and a buddy
// region has 64. At 40 prompt tokens the model's limit of 64 cuts it: 63. A power of two stays itself: 1 -> 1, 32
// -> 32.
TEST_CASE("pow2 rounds the output up to a power of two, not the prompt, and not beyond the model's limit") {
  const auto arena = make_allocator("contiguous", {Tokens(256), Tokens(16), Tokens(64), "pow2", "first_fit"});
  const auto need = [](std::int64_t prompt, std::int64_t output) {
    const Tokens end(prompt + output - 1);
    return SequenceNeed{Tokens(prompt), end, end};
  };
  CHECK(arena->whole_demand(need(10, 25)) == 41);
  CHECK(arena->whole_demand(need(40, 17)) == 63);
  CHECK(arena->whole_demand(need(10, 1)) == 10);
  CHECK(arena->whole_demand(need(10, 32)) == 41);
  CHECK(arena->whole_demand(need(10, 33)) == 63);

  const auto buddy = make_allocator("contiguous", {Tokens(256), Tokens(16), Tokens(64), "pow2", "buddy"});
  REQUIRE(buddy->admit(SequenceId{0}, need(10, 25), Tokens(10)) == Grant::granted);
  const MemoryPartition p = buddy->partition();
  CHECK(p[MemoryState::live] == 10);
  CHECK(p[MemoryState::reserved] == 24);
  CHECK(p[MemoryState::over_reserved] == 7);
  CHECK(p[MemoryState::padding] == 23);
  CHECK(p[MemoryState::free] == 192);
}

// Worked out: oracle reservations of 33 slots take buddies of 64. In 96 = 64 + 32 slots the second finds 32 free and is
// simply refused; after first fit has placed 40 + 20 + 40 of 100 and the outer two are gone, 80 are free and the
// largest hole is 40.
TEST_CASE("free memory is external while a refused admission would fit it in pieces") {
  const auto buddy = make_allocator("contiguous", {Tokens(96), Tokens(16), Tokens(64), "oracle", "buddy"});
  const SequenceNeed n33{Tokens(33), Tokens(33), Tokens(33)};
  REQUIRE(buddy->admit(SequenceId{0}, n33, Tokens(33)) == Grant::granted);
  REQUIRE(buddy->admit(SequenceId{1}, n33, Tokens(33)) == Grant::no_space);
  CHECK(buddy->partition()[MemoryState::external] == 0);
  CHECK(buddy->partition()[MemoryState::padding] == 31);

  const auto first_fit = make_allocator("contiguous", {Tokens(100), Tokens(16), Tokens(64), "oracle", "first_fit"});
  const auto need = [](std::int64_t n) { return SequenceNeed{Tokens(n), Tokens(n), Tokens(n)}; };
  REQUIRE(first_fit->admit(SequenceId{0}, need(40), Tokens(40)) == Grant::granted);
  REQUIRE(first_fit->admit(SequenceId{1}, need(20), Tokens(20)) == Grant::granted);
  REQUIRE(first_fit->admit(SequenceId{2}, need(40), Tokens(40)) == Grant::granted);
  first_fit->release(SequenceId{0});
  first_fit->release(SequenceId{2});
  REQUIRE(first_fit->admit(SequenceId{3}, need(50), Tokens(50)) == Grant::no_space);
  CHECK(first_fit->partition()[MemoryState::external] == 80);
  CHECK(first_fit->partition()[MemoryState::free] == 0);
  REQUIRE(first_fit->admit(SequenceId{3}, need(30), Tokens(30)) == Grant::granted);
  CHECK(first_fit->partition()[MemoryState::external] == 0);
}

TEST_CASE("a sequence of 100 tokens takes 7 blocks of 16, and blocks of any size the least that hold it") {
  for (std::int64_t block_size = 1; block_size <= 1024; ++block_size) {
    const auto paged =
        make_allocator("paged", {Tokens(block_size * 128), Tokens(block_size), kMaxModelLen, "oracle", "buddy"});
    REQUIRE(paged->admit(SequenceId{0}, need_of(60, 41), Tokens(60)) == Grant::granted);
    REQUIRE(paged->grow(SequenceId{0}, Tokens(100)) == Grant::granted);
    const std::int64_t blocks = 128 - paged->available();
    CHECK(blocks * block_size >= 100);
    CHECK((blocks - 1) * block_size < 100);
    CHECK(paged->partition()[MemoryState::tail] <= block_size - 1);
    if (block_size == 16) CHECK(blocks == 7);
  }
}

// Worked out: 10 prompt tokens and 4 more are reserved at 0; the 15th token takes 28 slots at 14, and 14 tokens are
// copied; the 29th takes 56 at 42, and 28 are copied. 14 + 28 slots below are free then.
TEST_CASE("a region that grows doubles into a new one and pays for the copy") {
  MemoryOptions options{Tokens(200), Tokens(16), kMaxModelLen, "grow", "first_fit"};
  options.initial_tokens = Tokens(4);
  const auto arena = make_allocator("contiguous", options);
  REQUIRE(arena->admit(SequenceId{0}, need_of(10, 31), Tokens(10)) == Grant::granted);
  CHECK(arena->partition()[MemoryState::reserved] == 4);
  arena->start_decoding(SequenceId{0});
  for (int i = 0; i < 4; ++i) REQUIRE(arena->grow_decoding() == Grant::granted);
  CHECK(arena->take_work().copied == Tokens(0));
  CHECK(arena->decode_demand() == 28);
  REQUIRE(arena->grow_decoding() == Grant::granted);
  CHECK(arena->take_work().copied == Tokens(14));
  CHECK(arena->partition()[MemoryState::live] == 15);
  CHECK(arena->partition()[MemoryState::reserved] == 13);
  for (int i = 0; i < 14; ++i) REQUIRE(arena->grow_decoding() == Grant::granted);
  CHECK(arena->take_work().copied == Tokens(28));
  // 40 of the 56 will be written.
  CHECK(arena->partition()[MemoryState::reserved] == 40 - 29);
  CHECK(arena->partition()[MemoryState::over_reserved] == 16);
  CHECK(arena->largest_free() == Tokens(102));
}

// Worked out: 40 + 20 + 40 of 100; the outer two go, and 50 find no place in 40 + 40. Moving the 20 down to 0 copies 20
// tokens and leaves 80.
TEST_CASE("compaction lets in who was refused for its place, at the price of what is moved") {
  MemoryOptions options{Tokens(100), Tokens(16), kMaxModelLen, "oracle", "first_fit"};
  options.compaction.on_failure = true;
  const auto arena = make_allocator("contiguous", options);
  for (const std::uint32_t i : {0U, 1U, 2U}) {
    const std::int64_t n = i == 1 ? 20 : 40;
    REQUIRE(arena->admit(SequenceId{i}, need_of(n, 1), Tokens(n)) == Grant::granted);
  }
  arena->release(SequenceId{0});
  arena->release(SequenceId{2});
  REQUIRE(arena->admit(SequenceId{3}, need_of(50, 1), Tokens(50)) == Grant::granted);
  const MemoryWork work = arena->take_work();
  CHECK(work.copied == Tokens(20));
  CHECK(work.compactions == 1);
  CHECK(arena->partition()[MemoryState::external] == 0);
  CHECK(arena->largest_free() == Tokens(30));
}

// Pages of 2 MiB and of 64 KiB under Llama 3 8B on one GPU and on two: vAttention's own table has 1,024, 32, 2,048 and
// 64 tokens a page.
TEST_CASE("tokens a page holds are those of vAttention") {
  const auto tokens = [](std::int64_t heads, Bytes page) {
    return PageGeometry(page, {{heads * 128 * 2, 64}}).filled(Tokens(1)).count();
  };
  CHECK(tokens(8, Bytes(2 << 20)) == 1024);
  CHECK(tokens(8, Bytes(64 << 10)) == 32);
  CHECK(tokens(4, Bytes(2 << 20)) == 2048);
  CHECK(tokens(4, Bytes(64 << 10)) == 64);
}

// Worked out: one tensor of 20 bytes a token, pages of 64: 6 tokens take 2 pages, which hold 6 whole tokens and 8
// bytes; pieces of 4 bytes.
TEST_CASE("pages of virtual memory: tail, padding, and pages kept for the next sequence") {
  const PageGeometry geometry(Bytes(64), {{20, 1}});
  Virtual memory(10, geometry, true);
  CHECK(memory.capacity() == Tokens(32));
  CHECK(memory.largest_free_pieces() == 160);
  REQUIRE(memory.admit(SequenceId{0}, need_of(4, 3), Tokens(4)) == Grant::granted);
  CHECK(memory.take_work().pages_mapped == 2);
  MemoryPartition p = memory.partition();
  CHECK(p[MemoryState::live] == 20);
  CHECK(p[MemoryState::tail] == 10);
  CHECK(p[MemoryState::padding] == 2);
  CHECK(p[MemoryState::free] == 8 * 16);
  memory.release(SequenceId{0});
  CHECK(memory.partition()[MemoryState::cached] == 2 * 16);
  // 3 tokens use one of the two kept pages, nothing is mapped; 32 tokens take all ten.
  REQUIRE(memory.admit(SequenceId{1}, need_of(3, 30), Tokens(3)) == Grant::granted);
  CHECK_FALSE(memory.take_work().any());
  CHECK(memory.partition()[MemoryState::cached] == 16);
  CHECK(memory.available() == 9);
  REQUIRE(memory.grow(SequenceId{1}, Tokens(32)) == Grant::granted);
  CHECK(memory.take_work().pages_mapped == 8);
  CHECK(memory.available() == 0);
}
