// Requests that cannot be admitted: a run ends early only where nothing that is due can free them, and waiting for it
// is cheap.
#include <catch2/catch.hpp>

#include "tests/serving/runs.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

constexpr SimTime seconds(std::int64_t n) { return milliseconds(1000 * n); }

// 11 blocks hold 176 tokens.
Sets small_pool(const Sets& more) {
  Sets sets{"engine.max_model_len=1024", "kv_cache.budget=11 blocks", "admission.never_fits=engine",
            "prefix_cache.enable=false"};
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

std::string on_l4(const TraceFile& trace, bool roofline) {
  return fmt::format(
      "name: test\nmodel: llama-3.2-1b\nhardware: {{gpu: l4}}\nworkload: {{trace: {{file: {}}}}}\n"
      "output: {{timeseries_interval: 10 s}}\n{}",
      trace.path(), roofline ? "" : "cost: {model: fixed, step: 7 ms}\n");
}

// The head never fits; a second waits behind it, a third comes long after.
TraceFile blocked_head() {
  return TraceFile({{seconds(0), 500, 10, ""}, {seconds(1), 50, 10, ""}, {seconds(150), 50, 10, ""}});
}

void same_when_walked(const std::string& yaml, Sets sets) {
  const serving::RunControl with_series{.go_on = {}, .time_series = true};
  const Files files = files_of(run(yaml, sets, with_series));
  sets.emplace_back("engine.fast_forward=false");
  CHECK(files_of(run(yaml, sets, with_series)) == files);
}

}  // namespace

TEST_CASE("stuck: a head that will be abandoned is waited for") {
  const TraceFile trace = blocked_head();
  for (const bool roofline : {true, false}) {
    const Sets sets = small_pool({"admission.abandon_after=100 s"});
    const serving::RunResult result = run(on_l4(trace, roofline), sets);
    CHECK(result.summary.stuck.empty());
    CHECK(result.summary.timed_out == 1);
    CHECK(result.summary.finished == 2);
    CHECK(result.summary.unfinished == 0);
    // Steps taken as one end where they would have ended one by one: the first of 7 ms at or after 100 s.
    if (!roofline) CHECK(result.collector.records()[1].first_token == milliseconds(100'002 + 7));
    same_when_walked(on_l4(trace, roofline), sets);
  }
}

TEST_CASE("stuck: asynchronous scheduling sees an arrival after a long wait as it does otherwise") {
  const TraceFile trace({{seconds(0), 500, 10, ", 5"}, {seconds(100), 50, 10, ", 0"}}, ",priority");
  const Sets sets = small_pool({"engine.queue_order=priority", "engine.async_scheduling=true"});
  const serving::RunResult result = run(on_l4(trace, false), sets);
  // It arrives during the step that ends at 100.002 s, and joins the one after the next.
  CHECK(result.collector.records()[1].admitted == milliseconds(100'009));
  same_when_walked(on_l4(trace, false), sets);
}

TEST_CASE("stuck: an arrival that may overtake the head is waited for, and costs few steps") {
  const SimTime late = seconds(90'000'000);
  const TraceFile trace({{seconds(0), 500, 10, ", 5"}, {late, 50, 10, ", 0"}}, ",priority");
  const Sets sets = small_pool({"engine.queue_order=priority"});
  const serving::RunResult result = run(on_l4(trace, true), sets);
  CHECK(result.summary.finished == 1);
  CHECK(result.collector.records()[1].first_token > late);
  CHECK(result.collector.records()[1].first_token < late + seconds(1));
  // Now nothing is due any more.
  CHECK_THAT(result.summary.stuck, Catch::Contains("can never be admitted"));
  CHECK(result.summary.unfinished == 1);
  CHECK(result.summary.steps < 30'000);

  const serving::RunResult in_order = run(on_l4(trace, true), small_pool({}));
  CHECK(in_order.summary.finished == 0);
  CHECK(in_order.summary.makespan_s < 60);
}

TEST_CASE("stuck: a circle of preemptions ends with the client's patience") {
  const TraceFile trace = blocked_head();
  const Sets sets = small_pool({"admission.abandon_after=100 s", "engine.long_prefill_token_threshold=10"});
  const serving::RunResult result = run(on_l4(trace, false), sets);
  CHECK(result.summary.stuck.empty());
  CHECK(result.summary.timed_out == 1);
  CHECK(result.summary.finished == 2);
  same_when_walked(on_l4(trace, false), sets);
}

TEST_CASE("stuck: a request that is alone and needs more than the pool is told what would help") {
  const TraceFile alone({{seconds(0), 500, 10, ""}});
  CHECK_THAT(run(on_l4(alone, false), small_pool({})).summary.stuck,
             Catch::Contains("no progress") && Catch::Contains("a larger kv_cache.budget"));
}
