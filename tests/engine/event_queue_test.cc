#include "sim/engine/event_queue.h"

#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <tuple>
#include <vector>

using namespace blockyard;
using blockyard::engine::EventQueue;

TEST_CASE("events leave by time, then rank, then order of pushing") {
  REQUIRE(rc::check([](const std::vector<std::pair<std::uint8_t, std::uint8_t>>& keys) {
    EventQueue<int> queue;
    std::vector<std::tuple<std::int64_t, std::uint32_t, int>> expected;
    int n = 0;
    for (const auto& [time, rank] : keys) {
      queue.push(SimTime(time % 8), rank % 3U, n);
      expected.emplace_back(time % 8, rank % 3U, n);
      ++n;
    }
    std::sort(expected.begin(), expected.end());
    for (const auto& [time, rank, payload] : expected) {
      RC_ASSERT(queue.next_time() == SimTime(time));
      const auto event = queue.pop();
      RC_ASSERT(event.time == SimTime(time));
      RC_ASSERT(event.rank == rank);
      RC_ASSERT(event.payload == payload);
      RC_ASSERT(queue.now() == SimTime(time));
    }
    RC_ASSERT(queue.empty());
    RC_ASSERT(queue.next_time() == kNever);
  }));
}
