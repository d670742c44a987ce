// The laws of the collector: what is integrated over time, and what is counted.
#include "sim/metrics/collector.h"

#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>

namespace blockyard::metrics {
namespace {

constexpr std::int64_t kCapacity = 1'000;

MemoryPartition partition(std::int64_t live, std::int64_t tail = 0) {
  MemoryPartition m;
  m[MemoryState::live] = live;
  m[MemoryState::tail] = tail;
  m[MemoryState::free] = kCapacity - live - tail;
  return m;
}

Collector collector(SimTime interval = SimTime(0)) {
  Collector c({.timeseries_interval = interval, .slo = {}, .slot_bytes = 8, .capacity_slots = kCapacity});
  c.set_memory(0, partition(0), kCapacity);
  return c;
}

double sum_of_means(const Summary& s) {
  double sum = 0;
  for (const MemoryShare& share : s.memory) sum += share.mean_share;
  return sum;
}

const MemoryShare& of(const Summary& s, MemoryState state) { return s.memory[static_cast<std::size_t>(state)]; }

// 10 ns with 600 live and 40 in the tail, then 30 ns with 200 live.
TEST_CASE("means are weighted by time, peaks are not") {
  Collector c = collector();
  c.arrived(SimTime(0), Tokens(1));
  c.set_memory(0, partition(600, 40), 300);
  c.set_running(0, 4);
  c.set_waiting(0, 8);
  c.advance(SimTime(10));
  c.set_memory(0, partition(200), 700);
  c.set_running(0, 2);
  c.set_waiting(0, 0);
  c.advance(SimTime(40));
  const Summary s = c.summarise();
  CHECK(of(s, MemoryState::live).mean_share == Approx(0.3));   // (600 x 10 + 200 x 30) / 40 / 1000
  CHECK(of(s, MemoryState::tail).mean_share == Approx(0.01));  // 40 x 10 / 40 / 1000
  CHECK(of(s, MemoryState::free).mean_share == Approx(0.69));
  CHECK(of(s, MemoryState::live).peak_share == 0.6);
  CHECK(of(s, MemoryState::tail).peak_share == 0.04);
  CHECK(of(s, MemoryState::free).peak_share == 1.0);  // before the first request
  CHECK(s.largest_free_mean_share == Approx(0.6));
  CHECK(s.largest_free_min_share == 0.3);
  CHECK(s.mean_running == 2.5);
  CHECK(s.max_running == 4);
  CHECK(s.mean_waiting == 2.0);
  CHECK(s.max_waiting == 8);
  CHECK(s.capacity == Bytes(8'000));
}

TEST_CASE("what is before the first arrival does not enter the means") {
  const auto run = [](SimTime first) {
    Collector c = collector();
    c.advance(SimTime(first.count() / 2));
    c.arrived(first, Tokens(1));
    c.advance(first);
    c.set_running(0, 3);
    c.set_memory(0, partition(500), 500);
    c.advance(first + SimTime(100));
    return c.summarise();
  };
  for (const std::int64_t first : {0, 1, 1'000'000'007}) {
    const Summary s = run(SimTime(first));
    CHECK(s.makespan_s == 100e-9);
    CHECK(s.mean_running == 3.0);
    CHECK(of(s, MemoryState::live).mean_share == 0.5);
    CHECK(s.largest_free_mean_share == 0.5);
  }
}

TEST_CASE("a run that is over at once, or never begins, has the means of its only instant") {
  Collector c = collector();
  CHECK(sum_of_means(c.summarise()) == 1.0);
  c.rejected(c.arrived(SimTime(7), Tokens(1)), SimTime(7), RejectReason::queue_full);
  const Summary s = c.summarise();
  CHECK(s.makespan_s == 0);
  CHECK(of(s, MemoryState::free).mean_share == 1.0);
  CHECK(s.requests_per_s == 0);
}

TEST_CASE("rows stand at the multiples of the interval and at the end") {
  Collector c = collector(SimTime(10));
  c.arrived(SimTime(0), Tokens(1));
  c.set_running(0, 1);
  c.advance(SimTime(4));
  c.step(0, 7, 1);
  c.advance(SimTime(10));
  c.step(0, 5, 2);         // at the tick: belongs to the interval that it ends
  c.set_running(0, 2);     // likewise
  c.advance(SimTime(30));  // over one tick and onto another
  c.step(0, 1, 1);
  c.advance(SimTime(35));
  c.step(0, 2, 0);
  const std::vector<TimeSeriesRow> rows = c.time_series();
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].time == SimTime(10));
  CHECK(rows[0].running == 2);
  CHECK(rows[0].computed_tokens == 12);
  CHECK(rows[0].output_tokens == 3);
  CHECK(rows[1].time == SimTime(20));
  CHECK(rows[1].computed_tokens == 0);
  CHECK(rows[2].time == SimTime(30));
  CHECK(rows[2].computed_tokens == 1);
  CHECK(rows[3].time == SimTime(35));
  CHECK(rows[3].computed_tokens == 2);
}

TEST_CASE("without an interval there is no time series") {
  Collector c = collector();
  c.arrived(SimTime(0), Tokens(1));
  c.advance(SimTime(1'000'000));
  CHECK(c.time_series().empty());
}

// A client's view of the same run: when it came, was admitted and left.
struct Stay {
  std::int64_t arrival;
  std::int64_t admitted;
  std::int64_t ended;
};

std::vector<Stay> any_stays() {
  std::vector<Stay> stays;
  std::int64_t arrival = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
  const int count = *rc::gen::inRange(1, 60);
  for (int i = 0; i < count; ++i) {
    const std::int64_t admitted = arrival + *rc::gen::inRange<std::int64_t>(0, 100'000);
    stays.push_back({arrival, admitted, admitted + *rc::gen::inRange<std::int64_t>(1, 500'000)});
    arrival += *rc::gen::inRange<std::int64_t>(0, 50'000);
  }
  return stays;
}

// Replays the stays at every instant at which something happens; a request holds 10 slots from admission to end, and
// each end is a step of 3 tokens of which one is output.
Collector replay(const std::vector<Stay>& stays, SimTime interval) {
  std::vector<std::int64_t> instants;
  for (const Stay& s : stays) instants.insert(instants.end(), {s.arrival, s.admitted, s.ended});
  std::sort(instants.begin(), instants.end());
  instants.erase(std::unique(instants.begin(), instants.end()), instants.end());

  Collector c = collector(interval);
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  for (const std::int64_t t : instants) {
    c.advance(SimTime(t));
    for (std::size_t i = 0; i < stays.size(); ++i) {
      const auto id = static_cast<RecordId>(i);
      if (stays[i].arrival == t) {
        c.arrived(SimTime(t), Tokens(10));
        ++waiting;
      }
      if (stays[i].admitted == t) {
        c.admitted(id, SimTime(t));
        --waiting;
        ++running;
      }
      if (stays[i].ended == t) {
        c.first_token(id, SimTime(t));
        c.finished(id, SimTime(t), Tokens(1));
        c.step(0, 3, 1);
        --running;
      }
    }
    c.set_running(0, running);
    c.set_waiting(0, waiting);
    c.set_memory(0, partition(10 * running), kCapacity - 10 * running);
  }
  return c;
}

TEST_CASE("Little's law, the partition of memory and the sums of the time series hold in any run") {
  REQUIRE(rc::check([] {
    const std::vector<Stay> stays = any_stays();
    const Collector c = replay(stays, SimTime(*rc::gen::inRange<std::int64_t>(1'000, 300'000)));
    const Summary s = c.summarise();
    const auto count = static_cast<std::int64_t>(stays.size());
    RC_ASSERT(s.arrived == count && s.finished == count && s.unfinished == 0);

    // Each integral over the makespan is a sum of integers far below 2^53: exact but for the division.
    std::int64_t waited = 0;
    std::int64_t ran = 0;
    std::int64_t last = 0;
    for (const Stay& stay : stays) {
      waited += stay.admitted - stay.arrival;
      ran += stay.ended - stay.admitted;
      last = std::max(last, stay.ended);
    }
    const auto span = static_cast<double>(last - stays.front().arrival);
    RC_ASSERT(s.makespan_s == span / 1e9);
    RC_ASSERT(s.mean_waiting == static_cast<double>(waited) / span);
    RC_ASSERT(s.mean_running == static_cast<double>(ran) / span);
    RC_ASSERT(of(s, MemoryState::live).mean_share == static_cast<double>(10 * ran) / span / kCapacity);
    RC_ASSERT(std::abs(sum_of_means(s) - 1) < 1e-12);
    RC_ASSERT(of(s, MemoryState::live).peak_share == static_cast<double>(10 * s.max_running) / kCapacity);

    std::int64_t output = 0;
    std::int64_t computed = 0;
    SimTime before(-1);
    for (const TimeSeriesRow& row : c.time_series()) {
      RC_ASSERT(row.time > before);
      before = row.time;
      output += row.output_tokens;
      computed += row.computed_tokens;
      RC_ASSERT(row.memory.total() == kCapacity);
      // Who is there after the instant has passed.
      const auto there = [&](auto from, auto to) {
        return std::count_if(stays.begin(), stays.end(), [&](const Stay& stay) {
          return from(stay) <= row.time.count() && to(stay) > row.time.count();
        });
      };
      RC_ASSERT(row.running == there([](auto& x) { return x.admitted; }, [](auto& x) { return x.ended; }));
      RC_ASSERT(row.waiting == there([](auto& x) { return x.arrival; }, [](auto& x) { return x.admitted; }));
    }
    RC_ASSERT(before.count() == last);
    RC_ASSERT(output == s.output_tokens && computed == s.computed_tokens);
  }));
}

}  // namespace
}  // namespace blockyard::metrics
