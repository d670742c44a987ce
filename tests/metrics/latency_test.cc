// Latencies by their definitions, on runs small enough to be worked out by hand.
#include <catch2/catch.hpp>

#include "sim/metrics/collector.h"

namespace blockyard::metrics {
namespace {

constexpr SimTime ms(std::int64_t n) { return SimTime(n * 1'000'000); }

// A collector over a pool of 100 slots, all of them free.
Collector collector(const Slo& slo = {}) {
  Collector c({.timeseries_interval = SimTime(0), .slo = slo, .slot_bytes = 1, .capacity_slots = 100});
  MemoryPartition all_free;
  all_free[MemoryState::free] = 100;
  c.set_memory(0, all_free, 100);
  return c;
}

// One request, admitted as it comes, whose tokens come at these times.
RecordId serve(Collector& c, SimTime arrival, const std::vector<SimTime>& tokens) {
  const RecordId id = c.arrived(arrival, Tokens(10));
  c.admitted(id, arrival);
  c.first_token(id, tokens.front());
  for (std::size_t i = 1; i < tokens.size(); ++i) c.token_gap(tokens[i] - tokens[i - 1], 1);
  c.finished(id, tokens.back(), Tokens(static_cast<std::int64_t>(tokens.size())));
  return id;
}

TEST_CASE("tokens 1.0, 1.1, 1.3 and 1.6 s after the arrival") {
  Collector c = collector();
  const SimTime arrival = ms(5'000);
  serve(c, arrival, {arrival + ms(1'000), arrival + ms(1'100), arrival + ms(1'300), arrival + ms(1'600)});
  c.advance(ms(6'600));
  const Summary s = c.summarise();
  CHECK(s.ttft.mean_s == 1.0);
  CHECK(s.e2e.mean_s == 1.6);
  CHECK(*s.tpot.mean_s == Approx(0.2));                  // (1.6 - 1.0) / 3
  CHECK(*s.e2e_per_output_token.mean_s == Approx(0.4));  // 1.6 / 4
  CHECK(s.itl.count == 3);
  CHECK(s.itl.mean_s == 0.2);  // of 0.1, 0.2, 0.3
  CHECK(s.itl.max_s == 0.3);
  CHECK(*s.itl.p50_s == Approx(0.2).epsilon(GapHistogram::kRelativeError));
  CHECK(s.makespan_s == 1.6);
}

// One gap of 1 s in one request, nine of 0.1 s in another: a mean of means and a pooled mean are not the same.
TEST_CASE("TPOT is a mean of requests, ITL a mean of gaps") {
  Collector c = collector();
  serve(c, ms(0), {ms(100), ms(1'100)});
  std::vector<SimTime> ten;
  for (std::int64_t i = 0; i < 10; ++i) ten.push_back(ms(200 + 100 * i));
  serve(c, ms(0), ten);
  c.advance(ms(1'100));
  const Summary s = c.summarise();
  CHECK(*s.tpot.mean_s == Approx(0.55));  // (1.0 + 0.1) / 2
  CHECK(*s.itl.mean_s == Approx(0.19));   // (1.0 + 9 x 0.1) / 10
}

TEST_CASE("an output of one token has no TPOT, and meets any limit on it") {
  Collector c = collector({.ttft = std::nullopt, .tpot = SimTime(1), .e2e = std::nullopt});
  serve(c, ms(0), {ms(700)});
  c.advance(ms(700));
  const Summary s = c.summarise();
  CHECK(s.finished == 1);
  CHECK(s.tpot.count == 0);
  CHECK_FALSE(s.tpot.mean_s);
  CHECK(s.itl.count == 0);
  CHECK_FALSE(s.itl.p99_s);
  CHECK(s.e2e_per_output_token.mean_s == 0.7);
  CHECK(s.good_requests == 1);
}

TEST_CASE("latencies are of finished requests only") {
  Collector c = collector();
  serve(c, ms(0), {ms(100), ms(200)});
  c.rejected(c.arrived(ms(10), Tokens(1'000)), ms(10), RejectReason::never_fits);
  c.rejected(c.arrived(ms(10), Tokens(1'000)), ms(10), RejectReason::queue_full);
  c.timed_out(c.arrived(ms(20), Tokens(1)), ms(90));
  const RecordId running = c.arrived(ms(30), Tokens(1));
  c.admitted(running, ms(40));
  c.first_token(running, ms(4'000));
  c.advance(ms(5'000));
  const Summary s = c.summarise();
  CHECK(s.arrived == 5);
  CHECK(s.finished == 1);
  CHECK(s.rejected == 2);
  CHECK(s.rejected_by_reason[static_cast<std::size_t>(RejectReason::never_fits)] == 1);
  CHECK(s.rejected_by_reason[static_cast<std::size_t>(RejectReason::queue_full)] == 1);
  CHECK(s.timed_out == 1);
  CHECK(s.unfinished == 1);
  for (const Distribution* d : {&s.admission, &s.ttft, &s.tpot, &s.e2e}) CHECK(d->count == 1);
  CHECK(s.ttft.max_s == 0.1);
  CHECK(s.prompt_tokens == 10 + 1'000 + 1'000 + 1 + 1);
}

TEST_CASE("a good request meets every limit to the nanosecond") {
  // TTFT 100 ms, TPOT (400 - 100) / 3 = 100 ms, E2E 400 ms.
  const std::vector<SimTime> tokens{ms(100), ms(150), ms(300), ms(400)};
  const auto good = [&](const Slo& slo) {
    Collector c = collector(slo);
    serve(c, ms(0), tokens);
    c.rejected(c.arrived(ms(1), Tokens(1)), ms(1), RejectReason::queue_full);
    c.advance(ms(400));
    const Summary s = c.summarise();
    CHECK(*s.goodput_requests_per_s == Approx(static_cast<double>(*s.good_requests) / 0.4));
    return *s.good_requests;
  };
  const SimTime ns(1);
  CHECK(good({.ttft = ms(100), .tpot = ms(100), .e2e = ms(400)}) == 1);
  CHECK(good({.ttft = ms(100) - ns, .tpot = std::nullopt, .e2e = std::nullopt}) == 0);
  CHECK(good({.ttft = std::nullopt, .tpot = ms(100) - ns, .e2e = std::nullopt}) == 0);
  CHECK(good({.ttft = std::nullopt, .tpot = std::nullopt, .e2e = ms(400) - ns}) == 0);
  CHECK(good({.ttft = std::nullopt, .tpot = SimTime(INT64_MAX / 2), .e2e = std::nullopt}) == 1);
}

TEST_CASE("a miss is counted for every limit that is missed, and alone where no other is") {
  Collector c = collector({.ttft = ms(100), .tpot = ms(50), .e2e = ms(400)});
  serve(c, ms(0), {ms(100), ms(150)});          // good
  serve(c, ms(0), {ms(101), ms(150)});          // TTFT
  serve(c, ms(0), {ms(100), ms(151)});          // TPOT
  serve(c, ms(0), {ms(300), ms(360)});          // TTFT, TPOT
  serve(c, ms(0), {ms(401)});                   // TTFT, E2E
  serve(c, ms(0), {ms(50), ms(300), ms(500)});  // TPOT, E2E
  serve(c, ms(0), {ms(101), ms(600)});          // all
  c.rejected(c.arrived(ms(1), Tokens(1)), ms(1), RejectReason::queue_full);
  c.timed_out(c.arrived(ms(1), Tokens(1)), ms(90));
  c.arrived(ms(1), Tokens(1));
  c.advance(ms(600));
  const Summary s = c.summarise();
  REQUIRE(s.misses);
  const auto [ttft, tpot, e2e] = s.misses->limits;
  CHECK(*s.good_requests == 1);
  CHECK(ttft.requests == 4);
  CHECK(ttft.alone == 1);
  CHECK(tpot.requests == 4);
  CHECK(tpot.alone == 1);
  CHECK(e2e.requests == 3);
  CHECK(e2e.alone == 0);
  CHECK(s.misses->not_finished == 3);
}

TEST_CASE("without an slo there is no goodput") {
  Collector c = collector();
  serve(c, ms(0), {ms(100)});
  c.advance(ms(100));
  CHECK_FALSE(c.summarise().good_requests);
  CHECK_FALSE(c.summarise().goodput_requests_per_s);
  CHECK_FALSE(c.summarise().misses);
}

TEST_CASE("stalls are added up for each preempted request") {
  Collector c = collector();
  const RecordId twice = c.arrived(ms(0), Tokens(10));
  const RecordId once = c.arrived(ms(0), Tokens(10));
  serve(c, ms(0), {ms(50), ms(60)});
  for (const std::int64_t stall : {300, 100}) {
    c.preempted(twice, ms(0), false);
    c.recomputed(twice, Tokens(12));
    c.restored(twice, ms(stall), ms(stall / 4));
  }
  c.preempted(once, ms(0), true);
  c.recomputed(once, Tokens(5));
  c.restored(once, ms(200), ms(200));
  c.step(0, 2, 2);
  c.advance(ms(1'000));
  const Summary s = c.summarise();
  CHECK(s.preemptions == 3);
  CHECK(s.preempted_requests == 2);
  CHECK(s.recomputed_tokens == 29);
  CHECK(s.total_stall_s == 0.6);
  CHECK(s.stall.count == 2);
  CHECK(*s.stall.p50_s == Approx(0.3));  // of 0.4 and 0.2
  CHECK(s.stall.max_s == 0.4);
  CHECK(s.preemptions_by_swap == 1);
  CHECK(s.each_stall.count == 3);
  CHECK(s.each_stall.max_s == 0.3);
  CHECK(s.stall_waiting_s == Approx(0.3));  // a quarter of 0.4, and all of 0.2
  CHECK(s.stall_restoring_s == Approx(0.3));
  // Three stalls in two output tokens.
  CHECK(*s.stalls_per_1000_output_tokens() == Approx(1500));
}

TEST_CASE("samples too small for a p99 are named") {
  Collector c = collector();
  for (std::int64_t i = 0; i < kTooFewForP99 - 1; ++i) serve(c, ms(i), {ms(i + 1), ms(i + 2), ms(i + 3)});
  c.advance(ms(1'000));
  const Summary s = c.summarise();  // 99 requests, 198 gaps
  REQUIRE(s.warnings.size() == 1);
  CHECK_THAT(s.warnings[0], Catch::Contains("ttft_s 99") && Catch::Contains("tpot_s 99"));
  CHECK_THAT(s.warnings[0], !Catch::Contains("itl_s") && !Catch::Contains("stall_s"));
  serve(c, ms(1'000), {ms(1'001), ms(1'002)});
  CHECK(c.summarise().warnings.empty());
}

TEST_CASE("a run in which nobody arrives says that there is nothing to measure") {
  const Summary s = collector().summarise();
  REQUIRE(s.warnings.size() == 1);
  CHECK_THAT(s.warnings[0], Catch::Contains("no request arrived"));
}

TEST_CASE("a run without a finished request warns of it") {
  Collector c = collector();
  c.rejected(c.arrived(ms(0), Tokens(1)), ms(0), RejectReason::queue_full);
  const Summary s = c.summarise();
  REQUIRE(s.warnings.size() == 1);
  CHECK_THAT(s.warnings[0], Catch::Contains("no request finished"));
}

}  // namespace
}  // namespace blockyard::metrics
