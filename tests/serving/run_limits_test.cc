// Warm-up, cool-down and limits of runs.
#include "sim/serving/run_limits.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "tests/serving/random_scenario.h"
#include "tests/serving/runs.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

const serving::RunControl kWithSeries{.go_on = {}, .time_series = true};

// One request of two tokens every 100 ms, alone in steps of 10 ms.
TraceFile steady(std::int64_t n) {
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < n; ++i) rows.push_back({milliseconds(100 * i), 20, 2, ""});
  return TraceFile(rows);
}

}  // namespace

TEST_CASE("limits and windows: fast-forward changes no byte") {
  REQUIRE(rc::check([] {
    const RandomScenario scenario = random_scenario(*rc::gen::element(Loop::open, Loop::closed));
    const std::vector<std::string> times{"1 ns", "10 ms", "33 ms", "0.4 s", "2 s"};
    const std::string warm_up = *rc::gen::elementOf(times);
    Sets sets{"run.warm_up=" + warm_up};
    if (*rc::gen::arbitrary<bool>()) sets.push_back("run.max_requests=" + std::to_string(*rc::gen::inRange(1, 30)));
    if (*rc::gen::arbitrary<bool>()) sets.emplace_back("run.max_time=2.1 s");
    if (*rc::gen::arbitrary<bool>()) sets.emplace_back("run.until.metric=e2e");
    RC_LOG() << scenario.yaml << sets.back();
    const Files files = files_of(run(scenario.yaml, sets, kWithSeries));
    sets.emplace_back("engine.fast_forward=false");
    const Files walked = files_of(run(scenario.yaml, sets, kWithSeries));
    RC_ASSERT(walked.requests == files.requests);
    RC_ASSERT(walked.summary == files.summary);
    RC_ASSERT(walked.time_series == files.time_series);
  }));
}

TEST_CASE("a run that is limited is the beginning of the whole one") {
  const TraceFile trace = steady(50);
  const serving::RunResult whole = run(small_engine(trace));
  const auto check = [&](const Sets& sets, std::int64_t finished, SimTime end) {
    const serving::RunResult part = run(small_engine(trace), sets);
    CHECK(part.summary.finished == finished);
    CHECK(part.summary.makespan_s == Approx(to_seconds(end)));
    for (std::size_t i = 0; i < part.collector.records().size(); ++i) {
      const metrics::RequestRecord& r = part.collector.records()[i];
      if (r.outcome == metrics::Outcome::finished) CHECK(r.ended == whole.collector.records()[i].ended);
    }
    return part.summary;
  };
  // The k-th request ends at k x 100 + 20 ms.
  const metrics::Summary by_count = check({"run.max_requests=10"}, 10, milliseconds(920));
  CHECK_THAT(by_count.identity.notes.back(), Catch::Contains("run.max_requests: 10 requests had finished"));
  CHECK(check({"run.max_time=1.01 s"}, 10, milliseconds(1010)).unfinished == 1);
  CHECK(check({"run.max_time=1.02 s"}, 11, milliseconds(1020)).unfinished == 0);
  const metrics::Summary longer = check({"run.max_time=1 h"}, 50, milliseconds(4920));
  CHECK(longer.identity.notes == whole.summary.identity.notes);
}

TEST_CASE("a metric without noise is known after 20 batches") {
  const TraceFile trace = steady(1000);
  const metrics::Summary s = run(small_engine(trace), {"run.until.metric=ttft"}).summary;
  CHECK(s.finished == 20 * 16);
  CHECK_THAT(s.identity.notes.back(), Catch::Contains("run.until: the mean TTFT was known to"));
}

TEST_CASE("a run until a metric is known goes on for longer if it has to be known better") {
  const std::string yaml =
      "name: test\nmodel: llama-3-8b\nhardware: {gpu: a100-80gb-sxm}\n"
      "workload:\n  generate:\n    requests: 40000\n    arrivals: {process: poisson, rate: 60 req/s}\n"
      "    prompt_tokens: {distribution: constant, value: 20}\n    output_tokens: {distribution: lognormal, mean: 6, "
      "cv: "
      "1}\n"
      "engine: {max_num_seqs: 6}\ncost: {model: fixed, step: 10 ms}\n";
  const metrics::Summary all = run(yaml).summary;
  const metrics::Summary rough = run(yaml, {"run.until.metric=e2e", "run.until.precision=0.1"}).summary;
  const metrics::Summary fine = run(yaml, {"run.until.metric=e2e", "run.until.precision=0.03"}).summary;
  CHECK(rough.finished < fine.finished);
  CHECK(fine.finished < all.finished);
  CHECK(*rough.e2e.mean_s == Approx(*all.e2e.mean_s).epsilon(0.25));
  CHECK(*fine.e2e.mean_s == Approx(*all.e2e.mean_s).epsilon(0.08));
}

TEST_CASE("warm-up and cool-down: figures are of what lies between") {
  // 100 requests; the window from 1 s to 9.9 - 2 = 7.9 s holds those from the 11th to the 79th, each for 20 of every
  // 100 ms.
  const TraceFile trace = steady(100);
  const metrics::Summary s = run(small_engine(trace), {"run.warm_up=1 s", "run.cool_down=2 s", "slo.e2e=1 s"}).summary;
  REQUIRE(s.window);
  CHECK(s.window->from_s == 1);
  CHECK(s.window->to_s == Approx(7.9));
  CHECK(s.window->arrived == 69);
  CHECK(s.window->finished == 69);
  CHECK(s.arrived == 100);
  CHECK(s.finished == 100);
  CHECK(s.e2e.count == 69);
  CHECK(s.output_tokens == 138);
  CHECK(s.steps == 138);
  CHECK(s.itl.count == 69);
  CHECK(s.requests_per_s == Approx(69 / 6.9));
  CHECK(*s.good_share() == 1);
  CHECK(s.mean_running == Approx(0.2));
  CHECK(s.makespan_s == Approx(9.92));
}

TEST_CASE("a step that ends as the window begins is in it, one that ends as it closes is not") {
  const TraceFile trace({{SimTime(0), 20, 1, ""}, {milliseconds(30), 20, 1, ""}, {milliseconds(60), 20, 1, ""}});
  // Steps end at 10, 40 and 70 ms. The window from 10 to 40 ms: tokens of the first step, latencies of the second
  // request.
  const metrics::Summary s = run(small_engine(trace), {"run.warm_up=10 ms", "run.cool_down=20 ms"}).summary;
  CHECK(s.steps == 1);
  CHECK(s.output_tokens == 1);
  CHECK(s.window->arrived == 1);
  CHECK(s.window->finished == 1);
}

TEST_CASE("windows that hold nothing") {
  const TraceFile trace = steady(10);
  const metrics::Summary s = run(small_engine(trace), {"run.warm_up=1 h"}).summary;
  CHECK_FALSE(s.window);
  CHECK_THAT(s.warnings.back(), Catch::Contains("over before its warm-up of 3600 s"));
  CHECK_THROWS_WITH(run(small_engine(trace), {"run.cool_down=1 s"}), Catch::Contains("nothing is left"));
  CHECK_THROWS_WITH(run(small_engine(trace), {"run.warm_up=2 s", "run.max_time=1 s"}),
                    Catch::Contains("run.max_time: nothing is left after run.warm_up"));
  CHECK_THROWS_WITH(run(small_engine(trace), {"run.until.precision=0.1"}), Catch::Contains("of which metric?"));
}
