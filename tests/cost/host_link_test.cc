// The host link: one copy after the other, never faster than it is, and busy for as long as it copied.
#include "sim/cost/host_link.h"

#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <tuple>
#include <vector>

using namespace blockyard;
using namespace blockyard::cost;

namespace {
constexpr std::int64_t kMs = 1'000'000;
}

TEST_CASE("a copy takes its latency, its pieces and its bytes") {
  // 1 ms + 4 x 2 ms + 30 MB at 10 GB/s = 3 ms.
  HostLink link({.bytes_per_s = 10e9, .latency_s = 1e-3, .per_piece_s = 2e-3, .shared = false});
  CHECK(link.duration(Bytes(30'000'000), 4) == SimTime(12 * kMs));
  CHECK(link.begin(Direction::out, SimTime(5 * kMs), Bytes(30'000'000), 4) == SimTime(17 * kMs));
  // The next one out waits for it; one in does not.
  CHECK(link.idle_from(Direction::out, SimTime(6 * kMs)) == SimTime(17 * kMs));
  CHECK(link.idle_from(Direction::in, SimTime(6 * kMs)) == SimTime(6 * kMs));
  CHECK(link.begin(Direction::out, SimTime(6 * kMs), Bytes(0), 0) == SimTime(18 * kMs));
  CHECK(link.busy(Direction::out, SimTime(10 * kMs)) == SimTime(5 * kMs));
  CHECK(link.busy(Direction::out, SimTime(100 * kMs)) == SimTime(13 * kMs));
  CHECK(link.busy(Direction::in, SimTime(100 * kMs)) == SimTime(0));
}

TEST_CASE("directions that share the link wait for each other") {
  HostLink link({.bytes_per_s = 1e9, .latency_s = 0, .per_piece_s = 0, .shared = true});
  CHECK(link.begin(Direction::out, SimTime(0), Bytes(1'000'000), 1) == SimTime(1 * kMs));
  CHECK(link.begin(Direction::in, SimTime(0), Bytes(1'000'000), 1) == SimTime(2 * kMs));
}

TEST_CASE("whatever is copied, no more goes over the link than it carries, and first come is first served") {
  REQUIRE(rc::check([](bool shared, const std::vector<std::tuple<bool, std::uint16_t, std::uint16_t>>& copies) {
    HostLink link({.bytes_per_s = 1e9, .latency_s = 2e-9, .per_piece_s = 0, .shared = shared});
    SimTime now;
    SimTime last_end[2];
    std::int64_t bytes[2] = {0, 0};
    SimTime end;
    for (const auto& [in, wait, size] : copies) {
      now += SimTime(wait);
      const Direction direction = in ? Direction::in : Direction::out;
      end = link.begin(direction, now, Bytes(size), 1);
      const std::size_t queue = shared ? 0 : (in ? 1 : 0);
      RC_ASSERT(end >= now + SimTime(2 + size));
      RC_ASSERT(end >= last_end[queue] + SimTime(2 + size));
      last_end[queue] = end;
      bytes[in ? 1 : 0] += size + 2;
      for (const Direction d : {Direction::out, Direction::in}) {
        RC_ASSERT(link.busy(d, now) >= SimTime(0));
        RC_ASSERT(link.busy(d, now) <= now);
      }
    }
    const SimTime over = std::max(last_end[0], last_end[1]);
    RC_ASSERT(link.busy(Direction::out, over) == SimTime(bytes[0]));
    RC_ASSERT(link.busy(Direction::in, over) == SimTime(bytes[1]));
  }));
}
