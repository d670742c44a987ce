// Busy time against a list of nanoseconds.
#include "sim/base/busy_time.h"

#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace blockyard;

namespace {

// Is it busy in the nanosecond that begins at i?
using Clock = std::vector<bool>;

std::int64_t busy_in(const Clock& clock, std::int64_t from, std::int64_t to) {
  return std::count(clock.begin() + from, clock.begin() + to, true);
}

}  // namespace

TEST_CASE("time in which it was busy, and its busiest interval") {
  BusyTime busy(SimTime(10));
  CHECK(busy.until(SimTime(3)) == SimTime(0));
  CHECK(busy.busiest_share(SimTime(3)) == 0);
  busy.add(SimTime(3), SimTime(4), SimTime(7));
  busy.add(SimTime(3), SimTime(18), SimTime(21));  // known long before
  CHECK(busy.until(SimTime(6)) == SimTime(2));
  CHECK(busy.until(SimTime(20)) == SimTime(5));
  CHECK(busy.busiest_share(SimTime(20)) == 0.3);
  CHECK(busy.busiest_share(SimTime(21)) == 1);  // of the one nanosecond of the third interval
  CHECK(busy.busiest_share(SimTime(30)) == 0.3);
  busy.add(SimTime(30), SimTime(35), SimTime(55));
  CHECK(busy.busiest_share(SimTime(60)) == 1);
}

TEST_CASE("what was before a restart does not count") {
  BusyTime busy(SimTime(10));
  busy.add(SimTime(0), SimTime(2), SimTime(14));
  busy.restart(SimTime(5));
  CHECK(busy.until(SimTime(14)) == SimTime(9));
  CHECK(busy.busiest_share(SimTime(20)) == 1);  // 5 to 10
  busy.restart(SimTime(20));
  CHECK(busy.until(SimTime(100)) == SimTime(0));
  CHECK(busy.busiest_share(SimTime(100)) == 0);
}

TEST_CASE("whatever it is told, it is busy as long as a count of nanoseconds says") {
  REQUIRE(rc::check([] {
    const auto interval = *rc::gen::inRange<std::int64_t>(1, 40);
    BusyTime busy{SimTime(interval)};
    Clock clock(100'000, false);
    std::int64_t now = 0;
    std::int64_t last_end = 0;
    std::int64_t start = 0;
    const auto stretches = *rc::gen::inRange(0, 30);
    for (int i = 0; i < stretches; ++i) {
      now += *rc::gen::inRange<std::int64_t>(0, 60);
      if (*rc::gen::inRange(0, 10) == 0) {
        busy.restart(SimTime(now));
        start = now;
      }
      const auto begin = std::max(now, last_end) + *rc::gen::element<std::int64_t>(0, 0, 1, 30);
      last_end = begin + *rc::gen::inRange<std::int64_t>(0, 150);
      busy.add(SimTime(now), SimTime(begin), SimTime(last_end));
      std::fill(clock.begin() + begin, clock.begin() + last_end, true);
      const std::int64_t seen = now + *rc::gen::inRange<std::int64_t>(0, 400);
      RC_ASSERT(busy.until(SimTime(seen)).count() == busy_in(clock, start, seen));
      double most = 0;
      for (std::int64_t edge = start - start % interval; edge < seen; edge += interval) {
        const std::int64_t from = std::max(edge, start);
        const std::int64_t to = std::min(edge + interval, seen);
        most = std::max(most, static_cast<double>(busy_in(clock, from, to)) / static_cast<double>(to - from));
      }
      RC_ASSERT(std::abs(busy.busiest_share(SimTime(seen)) - most) < 1e-12);
    }
  }));
}
