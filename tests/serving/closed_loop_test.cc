// Clients that wait for answers: who sends when, by closed forms and laws.
#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/serving/random_scenario.h"
#include "tests/serving/runs.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

using metrics::RequestRecord;

const serving::RunControl kWithSeries{.go_on = {}, .time_series = true};

std::vector<RequestRecord> records_of(const TraceFile& trace, const Sets& sets) {
  return run(small_engine(trace), sets).collector.records();
}

std::vector<SimTime> arrivals_of(const std::vector<RequestRecord>& records) {
  std::vector<SimTime> times;
  for (const RequestRecord& r : records) times.push_back(r.arrival);
  return times;
}

// The most requests that are out at once; one that ends as another is sent has ended.
std::int64_t most_out(const std::vector<RequestRecord>& records) {
  std::vector<std::pair<SimTime, int>> changes;
  for (const RequestRecord& r : records) {
    changes.emplace_back(r.arrival, 1);
    changes.emplace_back(r.ended, -1);
  }
  std::ranges::sort(changes);
  std::int64_t out = 0;
  std::int64_t most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, out += change);
  return most;
}

// n requests of `output` tokens, one every `gap`.
TraceFile even_trace(std::int64_t n, SimTime gap, std::int64_t output) {
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < n; ++i) rows.push_back({gap * i, 20, output, ""});
  return TraceFile(rows);
}

}  // namespace

TEST_CASE("closed loops: neither fast-forward nor repetition changes a byte, and no more are out than may be") {
  REQUIRE(rc::check([] {
    const RandomScenario scenario = random_scenario(Loop::closed);
    INFO(scenario.yaml);
    RC_LOG() << scenario.yaml;
    const scenario::Document document = parsed(scenario.yaml);
    const serving::RunResult result = serving::run(document, config_folder(), kWithSeries);
    const Files files = files_of(result);
    const Files walked = files_of(run(scenario.yaml, {"engine.fast_forward=false"}, kWithSeries));
    RC_ASSERT(walked.requests == files.requests);
    RC_ASSERT(walked.summary == files.summary);
    RC_ASSERT(walked.time_series == files.time_series);
    RC_ASSERT(files_of(run(scenario.yaml, {}, kWithSeries)) == files);
    const std::vector<RequestRecord>& records = result.collector.records();
    if (document.has_value("workload.clients.users")) {
      RC_ASSERT(most_out(records) <= document.integer("workload.clients.users"));
    } else if (!document.is_word("workload.clients.max_concurrency", "unlimited")) {
      RC_ASSERT(most_out(records) <= document.integer("workload.clients.max_concurrency"));
    }
    // Whoever ends lets others go on, so that everybody is sent but in a run that cannot end.
    const std::size_t offered = workload_of(document).requests.size();
    RC_ASSERT(records.size() <= offered);
    if (result.summary.stuck.empty()) RC_ASSERT(records.size() == offered);
    RC_CLASSIFY(result.summary.identity.notes.at(0).starts_with("closed"), "waits for answers");
  }));
}

TEST_CASE("a turn is sent its delay after the end of the one before it, whatever its recorded time") {
  // Steps of 10 ms: the first has two tokens and ends at 20 ms, the second is sent at 20 + 35 = 55 ms and ends at 75,
  // the third at 75 ms + 1 ns. The last has no delay and comes at its own time, when the third is still out.
  const TraceFile trace({{SimTime(0), 20, 2, ",1,"},
                         {SimTime(1), 30, 2, ",1,0.035"},
                         {milliseconds(4), 40, 9, ",1,0"},
                         {milliseconds(80), 50, 1, ",1,"}},
                        ",session,delay_s");
  const std::vector<SimTime> closed = arrivals_of(records_of(trace, {}));
  CHECK(closed == std::vector<SimTime>{SimTime(0), milliseconds(55), milliseconds(75) + SimTime(1), milliseconds(80)});
  CHECK(arrivals_of(records_of(trace, {"workload.clients.mode=open"})) ==
        std::vector<SimTime>{SimTime(0), SimTime(1), milliseconds(4), milliseconds(80)});
  CHECK(arrivals_of(records_of(trace, {"workload.clients.delay_scale=2"}))[2] == milliseconds(90));
  const auto told = [&](const Sets& sets) { return run(small_engine(trace), sets).summary.identity.notes.at(0); };
  CHECK_THAT(told({}), Catch::StartsWith("closed loop: 2 of 4 requests"));
  CHECK_THAT(told({"workload.clients.mode=open"}),
             Catch::Contains("delays of 2 requests after an answer are not used"));
  CHECK_THAT(told({"workload.clients.delay_scale=2"}), Catch::Contains("delays after an answer times 2"));
}

TEST_CASE("a turn goes on when the one before it was rejected") {
  const TraceFile trace({{SimTime(0), 9000, 2, ",1,"}, {SimTime(0), 30, 2, ",1,0.5"}}, ",session,delay_s");
  const std::vector<RequestRecord> records = records_of(trace, {"engine.max_model_len=4096"});
  CHECK(records.at(0).outcome == metrics::Outcome::rejected);
  CHECK(records.at(1).arrival == milliseconds(500));
}

TEST_CASE("one user who thinks: a request every think time and service time") {
  // 3 tokens in 30 ms; think time 70 ms: the k-th at k x 100 ms.
  const TraceFile trace = even_trace(20, SimTime(5), 3);
  const std::vector<SimTime> times =
      arrivals_of(records_of(trace, {"workload.clients.users=1", "workload.clients.think_time=70 ms"}));
  REQUIRE(times.size() == 20);
  for (std::size_t k = 0; k < times.size(); ++k) CHECK(times[k] == milliseconds(100 * static_cast<std::int64_t>(k)));
}

TEST_CASE("a limit of one is one after the other") {
  const TraceFile trace = even_trace(12, milliseconds(1), 4);
  const std::vector<RequestRecord> records = records_of(trace, {"workload.clients.max_concurrency=1"});
  REQUIRE(records.size() == 12);
  for (std::size_t k = 1; k < records.size(); ++k) CHECK(records[k].arrival == records[k - 1].ended + SimTime(1));
}

TEST_CASE("a limit that nobody reaches changes no request") {
  const TraceFile trace = even_trace(50, milliseconds(13), 5);
  const Files free = files_of(run(small_engine(trace)));
  const Files limited = files_of(run(small_engine(trace), {"workload.clients.max_concurrency=50"}));
  CHECK(limited.requests == free.requests);
}

// Little's law for the loop as a whole: N users, each in the system for R and thinking for Z a request, send X = N / (R
// + Z) requests a second.
TEST_CASE("users: N = X (R + Z)") {
  const double cv = GENERATE(0.0, 1.0);
  const TraceFile trace = even_trace(30'000, SimTime(0), 7);
  const metrics::Summary s =
      run(small_engine(trace), {"workload.clients.users=40", "engine.max_num_seqs=16",
                                "workload.clients.think_time=120 ms", fmt::format("workload.clients.think_cv={}", cv)})
          .summary;
  REQUIRE(s.finished == 30'000);
  // The mean think time of 30,000 draws is within 4.5 / sqrt(30,000) of its own; the ends of the run weigh 1 in 750.
  CHECK(s.requests_per_s * (*s.e2e.mean_s + 0.12) == Approx(40).epsilon(0.005 + cv * 0.026));
}

TEST_CASE("the turns of a session stay in order with users, and the others are dealt out") {
  const TraceFile trace({{SimTime(0), 20, 3, ",7"}, {SimTime(0), 21, 1, ",7"}, {SimTime(0), 22, 1, ",0"}}, ",session");
  const std::vector<RequestRecord> records = records_of(trace, {"workload.clients.users=2"});
  REQUIRE(records.size() == 3);
  CHECK(records[0].prompt_tokens == 20);
  CHECK(records[1].prompt_tokens == 22);  // the second turn waits for the first
  CHECK(records[2].arrival == records[0].ended + SimTime(1));
}

TEST_CASE("contradictions of clients are told with their places") {
  const TraceFile trace = even_trace(3, SimTime(1), 3);
  const auto problem = [&](const Sets& sets) -> std::string {
    try {
      (void)run(small_engine(trace), sets);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(problem({"workload.clients.mode=users"}), Catch::Contains("workload.clients.users: missing"));
  CHECK_THAT(problem({"workload.clients.mode=open", "workload.clients.users=3"}),
             Catch::Contains("workload.clients.users: only the mode `users`"));
  CHECK_THAT(problem({"workload.clients.think_time=1 s"}),
             Catch::Contains("workload.clients.think_time: only the mode"));
  CHECK_THAT(problem({"workload.clients.users=3", "workload.trace.rate_scale=2"}),
             Catch::Contains("workload.trace.rate_scale: users send"));
  CHECK_THAT(problem({"workload.clients.users=3", "workload.clients.max_concurrency=2"}),
             Catch::Contains("workload.clients.max_concurrency: as many"));
  CHECK_THAT(problem({"workload.clients.mode=open", "workload.clients.delay_scale=2"}),
             Catch::Contains("workload.clients.delay_scale: requests wait for no answers"));
}
