// Every placement of the table against a plain row of slots.
#include "sim/kv/placement/placement.h"

#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "sim/kv/allocator/strategies.h"
#include "sim/kv/placement/buddy.h"
#include "tests/kv/naive_arena.h"

using namespace blockyard;
using namespace blockyard::kv;
using kv_tests::NaiveArena;

namespace {

struct Arena {
  std::unique_ptr<Placement> placement;
  NaiveArena naive;
  std::vector<Region> held{};

  void agree() const {
    RC_ASSERT(placement->free().count() == naive.free());
    RC_ASSERT(placement->largest_free().count() == naive.largest_free());
  }
  void place(std::int64_t slots) {
    const std::int64_t largest = naive.largest_free();
    const auto expected = naive.place(slots);
    const auto region = placement->place(Tokens(slots));
    RC_ASSERT(region == expected);
    RC_ASSERT(region.has_value() == (largest >= naive.rounded(slots)));
    if (region) held.push_back(*region);
  }
  void remove(std::size_t i) {
    placement->remove(held[i]);
    naive.give(held[i]);
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
  }
  // Placed, the old one removed, and both undone: as if nothing had been.
  void place_and_undo(std::int64_t slots, std::size_t i) {
    const std::int64_t cursor = placement->cursor();
    const auto region = placement->place(Tokens(slots));
    if (!region) return;
    placement->remove(held[i]);
    placement->restore(held[i]);
    placement->remove(*region);
    placement->set_cursor(cursor);
  }
  void compact(std::int64_t wanted) {
    std::ranges::sort(held, {}, &Region::start);
    std::vector<Region> packed = held;
    NaiveArena after = naive;
    after.pack(packed);
    const bool helps =
        after.largest_free() > naive.largest_free() && (wanted == 0 || after.largest_free() >= naive.rounded(wanted));
    std::vector<Region> moved = held;
    RC_ASSERT(placement->compact(moved, Tokens(wanted)) == helps);
    RC_ASSERT(moved == (helps ? packed : held));
    if (!helps) return;
    held = moved;
    naive = after;
  }
};

}  // namespace

TEST_CASE("every placement does what its name says, never overlaps and loses nothing") {
  for (const NameDoc& name : placements()) {
    REQUIRE(rc::check(name.name, [&] {
      const Tokens capacity(*rc::gen::inRange<std::int64_t>(1, 300));
      Arena arena{make_placement(name.name, capacity), NaiveArena(capacity, name.name)};
      const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
          rc::gen::pair(rc::gen::inRange(0, 8), rc::gen::inRange(1, 80)));
      for (const auto& [action, size] : steps) {
        const std::size_t i = arena.held.empty() ? 0 : static_cast<std::size_t>(size) % arena.held.size();
        if (action < 4) arena.place(size);
        if (action >= 4 && action < 6 && !arena.held.empty()) arena.remove(i);
        if (action == 6 && !arena.held.empty()) arena.place_and_undo(size, i);
        if (action == 7) arena.compact(size % 3 == 0 ? 0 : size);
        arena.agree();
      }
      while (!arena.held.empty()) arena.remove(0);
      RC_ASSERT(arena.placement->free() == capacity);
      RC_ASSERT(arena.placement->largest_free() == arena.placement->largest_ever());
    }));
  }
}

TEST_CASE("an arena of 15,728 slots is a row of eight powers of two") {
  Buddy buddy(Tokens(15728));
  CHECK(buddy.largest_ever() == Tokens(8192));
  // 8192 + 4096 + 2048 + 1024 slots give 4 + 2 + 1 regions of 2048; the rest cannot.
  int regions = 0;
  while (buddy.place(Tokens(2048))) ++regions;
  CHECK(regions == 7);
  CHECK(buddy.free() == Tokens(15728 - 7 * 2048));
}

TEST_CASE("a buddy region is the next power of two") {
  const Buddy buddy(Tokens(1024));
  CHECK(buddy.rounded(Tokens(1)) == Tokens(1));
  CHECK(buddy.rounded(Tokens(33)) == Tokens(64));
  CHECK(buddy.rounded(Tokens(64)) == Tokens(64));
}

// Worked out: 10 + 30 + 10 + 20 + 30 of 100 slots, the second and the fourth removed: holes of 30 at 10 and 20 at 50.
// The region placed last ended at 100, so that next fit begins at the bottom, and then at 18.
TEST_CASE("where 8 slots go, and 8 more") {
  const auto starts = [](const char* name) {
    const auto placement = make_placement(name, Tokens(100));
    std::vector<Region> held;
    for (const std::int64_t size : {10, 30, 10, 20, 30}) held.push_back(*placement->place(Tokens(size)));
    placement->remove(held[1]);
    placement->remove(held[3]);
    const std::int64_t first = placement->place(Tokens(8))->start;
    return std::pair(first, placement->place(Tokens(8))->start);
  };
  using Starts = std::pair<std::int64_t, std::int64_t>;
  CHECK(starts("first_fit") == Starts(10, 18));
  CHECK(starts("next_fit") == Starts(10, 18));
  CHECK(starts("best_fit") == Starts(50, 58));
  CHECK(starts("worst_fit") == Starts(10, 18));
}
