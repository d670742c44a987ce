#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "sim/kv/placement/buddy.h"
#include "sim/kv/placement/first_fit.h"

using namespace blockyard;
using namespace blockyard::kv;

namespace {

// The arena as a plain row of slots: slow and obviously right.
class NaiveArena {
 public:
  explicit NaiveArena(Tokens capacity) : taken_(static_cast<std::size_t>(capacity.count())) {}

  bool take(Region region) {
    for (std::int64_t i = 0; i < region.size.count(); ++i) {
      if (taken_.at(static_cast<std::size_t>(region.start + i))) return false;
      taken_[static_cast<std::size_t>(region.start + i)] = true;
    }
    return true;
  }
  void give(Region region) {
    for (std::int64_t i = 0; i < region.size.count(); ++i)
      taken_.at(static_cast<std::size_t>(region.start + i)) = false;
  }
  [[nodiscard]] std::int64_t free() const { return std::count(taken_.begin(), taken_.end(), false); }
  // Start of the lowest run of at least `slots` free slots, -1 if there is none.
  [[nodiscard]] std::int64_t first_run(std::int64_t slots) const {
    std::int64_t run = 0;
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      run = taken_[i] ? 0 : run + 1;
      if (run == slots) return static_cast<std::int64_t>(i) + 1 - slots;
    }
    return -1;
  }
  [[nodiscard]] std::int64_t longest_run() const {
    std::int64_t run = 0;
    std::int64_t longest = 0;
    for (const bool taken : taken_) longest = std::max(longest, run = taken ? 0 : run + 1);
    return longest;
  }

 private:
  std::vector<bool> taken_;
};

template <class P>
void placements_obey_their_laws(bool exact_first_fit) {
  const Tokens capacity(*rc::gen::inRange<std::int64_t>(1, 300));
  P placement(capacity);
  NaiveArena naive(capacity);
  std::vector<Region> held;
  const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 3), rc::gen::inRange(1, 80)));
  for (const auto& [action, size] : steps) {
    if (action > 0) {
      const std::int64_t expected = naive.first_run(size);
      const auto region = placement.place(Tokens(size));
      if (exact_first_fit) RC_ASSERT((region ? region->start : -1) == expected);
      if (!region) {
        RC_ASSERT(placement.largest_free() < placement.rounded(Tokens(size)));
        continue;
      }
      RC_ASSERT(region->size == placement.rounded(Tokens(size)));
      RC_ASSERT(region->size >= Tokens(size));
      RC_ASSERT(naive.take(*region));
      held.push_back(*region);
    } else if (!held.empty()) {
      const std::size_t i = static_cast<std::size_t>(size) % held.size();
      placement.remove(held[i]);
      naive.give(held[i]);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
    }
    RC_ASSERT(placement.free().count() == naive.free());
    RC_ASSERT(placement.largest_free().count() <= naive.longest_run());
  }
  for (const Region& region : held) placement.remove(region);
  RC_ASSERT(placement.free() == capacity);
  RC_ASSERT(placement.largest_free() == placement.largest_ever());
}

}  // namespace

TEST_CASE("first fit takes the lowest run, never overlaps and loses nothing") {
  REQUIRE(rc::check([] { placements_obey_their_laws<FirstFit>(true); }));
}

TEST_CASE("buddies never overlap, lose nothing and join again to the whole arena") {
  REQUIRE(rc::check([] { placements_obey_their_laws<Buddy>(false); }));
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
