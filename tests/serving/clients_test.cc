// Requests that do not simply finish: clients that leave, queues that are full, requests that nothing can hold, and
// engines that turn in a circle.
#include <catch2/catch.hpp>

#include "tests/serving/laws.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

using metrics::Outcome;

serving::RunResult run_lawful(const TraceFile& trace, const Sets& sets, const serving::RunControl& control = {}) {
  const scenario::Document scenario = parsed(small_engine(trace), sets);
  serving::RunResult result = serving::run(scenario, config_folder(), control);
  REQUIRE(broken_laws(result, scenario) == std::vector<std::string>{});
  return result;
}

std::vector<Outcome> outcomes(const serving::RunResult& result) {
  std::vector<Outcome> list;
  for (const metrics::RequestRecord& record : result.collector.records()) list.push_back(record.outcome);
  return list;
}

// The run stops by itself, says why, and does so alike on sums and step by step.
metrics::Summary run_stuck(const TraceFile& trace, Sets sets) {
  const serving::RunControl control{.go_on = {}, .time_series = true};
  const serving::RunResult result = run_lawful(trace, sets, control);
  sets.emplace_back("engine.fast_forward=false");
  CHECK(files_of(run_lawful(trace, sets, control)) == files_of(result));
  CHECK_THAT(result.summary.stuck, Catch::Contains("no progress"));
  CHECK_FALSE(result.summary.interrupted);
  CHECK(result.summary.unfinished > 0);
  return result.summary;
}

}  // namespace

TEST_CASE("a client leaves at the end of the step in which its patience ends") {
  // One seat, taken by the first until 1,000 ms. The second's patience ends at 35 ms, in the step from 30 to 40; the
  // third comes at 100 ms and would wait until 1,000, but leaves at 140, when the step that began at 130 has ended.
  const TraceFile trace({{SimTime(0), 50, 100, ""}, {SimTime(0), 50, 1, ""}, {milliseconds(100), 50, 1, ""}});
  const serving::RunResult result = run_lawful(trace, {"engine.max_num_seqs=1", "admission.abandon_after=35 ms"});
  CHECK(outcomes(result) == std::vector<Outcome>{Outcome::finished, Outcome::timed_out, Outcome::timed_out});
  CHECK(result.collector.records()[0].ended == milliseconds(1000));
  CHECK(result.collector.records()[1].ended == milliseconds(40));
  CHECK(result.collector.records()[2].ended == milliseconds(140));
}

TEST_CASE("a client whose first token comes as its patience ends stays") {
  const TraceFile trace({{SimTime(0), 50, 5, ""}});
  CHECK(run_lawful(trace, {"admission.abandon_after=10 ms"}).summary.finished == 1);
  // The token is on its way when patience ends.
  CHECK(run_lawful(trace, {"admission.abandon_after=3 ms"}).summary.finished == 1);
}

TEST_CASE("a client that leaves in the middle of its prefill gives its memory back") {
  // 300 tokens in chunks of 100: patience ends in the second step, at whose end 200 tokens are there for nothing. The
  // pool has room for one of the two only.
  const TraceFile trace({{SimTime(0), 300, 5, ""}, {milliseconds(1), 90, 5, ""}});
  const serving::RunResult result =
      run_lawful(trace, {"admission.abandon_after=15 ms", "engine.max_num_batched_tokens=100", "engine.max_num_seqs=8",
                         "kv_cache.budget=22 blocks", "admission.watermark=1 blocks"});
  CHECK(outcomes(result) == std::vector<Outcome>{Outcome::timed_out, Outcome::timed_out});
  CHECK(result.collector.records()[0].admitted == SimTime(0));
  CHECK(result.collector.records()[0].ended == milliseconds(20));
  CHECK(result.collector.records()[1].ended == milliseconds(20));
  CHECK(result.summary.computed_tokens == 200);
  CHECK(result.summary.makespan_s == 0.02);

  // With patience for three steps and more the first gets its token, and the second follows when it has ended.
  const serving::RunResult patient =
      run_lawful(trace, {"admission.abandon_after=200 ms", "engine.max_num_batched_tokens=100", "engine.max_num_seqs=8",
                         "kv_cache.budget=22 blocks", "admission.watermark=1 blocks"});
  CHECK(patient.summary.finished == 2);
}

TEST_CASE("patience that ends after the last request has ended is no event of the run") {
  const TraceFile trace({{SimTime(0), 50, 5, ""}});
  CHECK(run_lawful(trace, {"admission.abandon_after=1 h"}).summary.makespan_s == 0.05);
}

TEST_CASE("who comes to a full queue is turned away") {
  // One seat, room for two to wait. Of five at 0 the engine has seen none before its first step, so that two stay. At
  // 5 ms one runs and one waits: one more may. At 7 ms the queue is full again.
  const TraceFile trace({{SimTime(0), 10, 3, ""},
                         {SimTime(0), 10, 3, ""},
                         {SimTime(0), 10, 3, ""},
                         {SimTime(0), 10, 3, ""},
                         {SimTime(0), 10, 3, ""},
                         {milliseconds(5), 10, 3, ""},
                         {milliseconds(7), 10, 3, ""}});
  const serving::RunResult result = run_lawful(trace, {"engine.max_num_seqs=1", "admission.max_queue=2"});
  CHECK(outcomes(result) == std::vector<Outcome>{Outcome::finished, Outcome::finished, Outcome::rejected,
                                                 Outcome::rejected, Outcome::rejected, Outcome::finished,
                                                 Outcome::rejected});
  CHECK(result.summary.rejected_by_reason[static_cast<std::size_t>(metrics::RejectReason::queue_full)] == 4);
  CHECK(result.summary.max_waiting == 2);
}

TEST_CASE("a request longer than the limit is clipped, turned away, or loses the beginning of its prompt") {
  // The limit is 100 tokens. 60 + 60 are too many by 20; 120 + 5 leave no room for the prompt alone; 30 + 30 fit.
  const TraceFile trace({{SimTime(0), 60, 60, ""}, {SimTime(0), 120, 5, ""}, {SimTime(0), 30, 30, ""}});
  const auto with = [&](const char* policy) {
    return run(small_engine(trace), {"engine.max_model_len=100", fmt::format("admission.over_length={}", policy)});
  };
  const auto rejected = [](const serving::RunResult& result, metrics::RejectReason reason) {
    return result.summary.rejected_by_reason[static_cast<std::size_t>(reason)];
  };
  const serving::RunResult clip = with("clip");
  CHECK(outcomes(clip) == std::vector<Outcome>{Outcome::finished, Outcome::rejected, Outcome::finished});
  CHECK(clip.collector.records()[0].generated_tokens == 40);
  CHECK(rejected(clip, metrics::RejectReason::prompt_too_long) == 1);

  const serving::RunResult reject = with("reject");
  CHECK(outcomes(reject) == std::vector<Outcome>{Outcome::rejected, Outcome::rejected, Outcome::finished});
  CHECK(rejected(reject, metrics::RejectReason::over_length) == 1);
  CHECK(rejected(reject, metrics::RejectReason::prompt_too_long) == 1);

  const serving::RunResult truncate = with("truncate");
  CHECK(truncate.summary.finished == 3);
  CHECK(truncate.collector.records()[0].prompt_tokens == 40);
  CHECK(truncate.collector.records()[0].generated_tokens == 60);
  CHECK(truncate.collector.records()[1].prompt_tokens == 95);
  CHECK(truncate.collector.records()[1].generated_tokens == 5);
  CHECK_THAT(truncate.summary.identity.notes.back(), Catch::StartsWith("2 prompts were cut"));
}

TEST_CASE("a tenant that sends more than its rate is turned away, its neighbour is not") {
  std::vector<Row> rows;
  for (int i = 0; i < 20; ++i) rows.push_back({milliseconds(10 * i), 10, 2, i % 2 == 0 ? ",1" : ",2"});
  rows.push_back({milliseconds(200), 10, 2, ",1"});
  // 5 a second each and a bucket of 2: of ten in 0.2 s two come in, and a third as its bucket holds one again at 0.2 s.
  const TraceFile trace(rows, ",tenant");
  const serving::RunResult result =
      run_lawful(trace, {"admission.rate_limit.requests_per_s=5", "admission.rate_limit.burst=0.4 s"});
  CHECK(result.summary.finished == 5);
  CHECK(result.summary.rejected_by_reason[static_cast<std::size_t>(metrics::RejectReason::rate_limited)] == 16);
  CHECK(result.collector.records()[20].outcome == Outcome::finished);
}

TEST_CASE("a long request at the head is not passed by small ones for ever, but under orders that let it starve") {
  // The pool holds 100 blocks of 16. The fifth writes 1,600 tokens; its prompt alone takes 98 blocks, and four of one
  // block each are there before it. More of these keep coming, one every 10 ms that stays for 40. First come, first
  // served, it comes in as two have left.
  std::vector<Row> rows(4, Row{SimTime(0), 8, 4, ""});
  rows.push_back({SimTime(0), 1561, 40, ""});
  for (int i = 1; i < 300; ++i) rows.push_back({milliseconds(10 * i), 8, 4, ""});
  const TraceFile trace(rows);
  const auto wait_of = [&](const char* order) {
    const serving::RunResult result =
        run_lawful(trace, {"kv_cache.budget=101 blocks", "engine.scheduler_reserve_full_isl=true", "slo.ttft=1 s",
                           fmt::format("engine.queue_order={}", order)});
    CHECK(result.summary.finished == 304);
    return result.collector.records()[4].admitted;
  };
  for (const char* fair_to_all : {"fcfs", "priority", "edf", "fair"}) {
    INFO(fair_to_all);
    CHECK(wait_of(fair_to_all) == milliseconds(40));
  }
  // Behind every shorter one that comes: until the last has come and there is room.
  for (const char* starves : {"sjf", "srpt"}) {
    INFO(starves);
    CHECK(wait_of(starves) > milliseconds(2900));
  }
}

TEST_CASE("a request that nothing can hold stops the engine that takes it, and the run says so") {
  const TraceFile trace({{SimTime(0), 100, 200, ""}, {SimTime(0), 10, 5, ""}});
  const Sets engine{"admission.never_fits=engine"};
  const auto with = [&](const std::vector<std::string>& more) {
    Sets sets = engine;
    sets.insert(sets.end(), more.begin(), more.end());
    return sets;
  };
  // It fills the pool, has to go, and with all it has to compute again it cannot be admitted. Nobody passes it.
  const metrics::Summary whole = run_stuck(trace, with({"kv_cache.budget=11 blocks"}));
  CHECK(whole.preemptions == 1);
  CHECK(whole.finished == 1);
  // In chunks it comes in again and again, to fill the pool and go, every 18 steps or so.
  const metrics::Summary chunks =
      run_stuck(trace, with({"kv_cache.budget=11 blocks", "engine.long_prefill_token_threshold=10"}));
  CHECK(chunks.preemptions > 300);
  // Without room for its first chunk, or for its region, it is never admitted at all.
  CHECK(run_stuck(trace, with({"kv_cache.budget=6 blocks"})).unfinished == 2);
  const metrics::Summary region = run_stuck(
      trace, with({"kv_cache.budget=1000 tokens", "engine.max_model_len=1024", "kv_cache.strategy=contiguous"}));
  CHECK(region.unfinished == 2);
  CHECK(region.mean_running == 0);
  // Turned away at its arrival it harms nobody.
  CHECK(run_lawful(trace, {"kv_cache.budget=11 blocks"}).summary.finished == 1);
}

TEST_CASE("requests of equal priority that came together and preempt each other in a circle are stopped") {
  // Victims are the least urgent, the first in the list where all are alike: often the one that asks. Chunks of 10
  // tokens let more prompts begin than the 8 blocks of 32 can end. Six prompts of 96 to 188 tokens from a recorded run
  // of the engine that made no end either.
  std::vector<Row> rows;
  for (const auto& [prompt, output] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {147, 9}, {160, 38}, {106, 34}, {96, 35}, {128, 17}, {188, 34}}) {
    rows.push_back({SimTime(0), prompt, output, ",0"});
  }
  const TraceFile trace(rows, ",priority");
  const Sets sets{"engine.queue_order=priority", "engine.long_prefill_token_threshold=10",
                  "engine.max_num_seqs=48",      "engine.max_num_batched_tokens=300",
                  "engine.max_model_len=200",    "kv_cache.budget=9 blocks",
                  "kv_cache.block_size=32"};
  const metrics::Summary s = run_stuck(trace, sets);
  CHECK(s.preemptions > 1000);
  // Arrivals a nanosecond apart break the tie.
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].arrival = SimTime(static_cast<std::int64_t>(i));
  CHECK(run_lawful(TraceFile(rows, ",priority"), sets).summary.finished == 6);
}

TEST_CASE("requests longer than the model are counted, rejected or cut") {
  const TraceFile trace({{milliseconds(0), 60, 4, ""},
                         {milliseconds(1), 64, 4, ""},
                         {milliseconds(2), 60, 9, ""},
                         {milliseconds(3), 60, 3, ""}});
  const metrics::Summary s = run_lawful(trace, {"engine.max_model_len=64"}).summary;
  CHECK(s.rejected == 1);
  CHECK(s.finished == 3);
  CHECK(s.output_tokens == 4 + 4 + 3);
  const auto says = [](const std::string& note) {
    return note.find("of 2 requests go beyond engine.max_model_len = 64: 1 were rejected") != std::string::npos &&
           note.find("and 1 end there") != std::string::npos;
  };
  CHECK(std::ranges::any_of(s.identity.notes, says));
}

TEST_CASE("watching a run changes nothing, and stopping it leaves a true account of what was done") {
  // Long enough for several questions, one every 4,096 events.
  std::vector<Row> rows;
  for (int i = 0; i < 20'000; ++i) rows.push_back({milliseconds(10 * i), 20 + i % 7, 2 + i % 3, ""});
  const TraceFile trace(rows);
  const Sets sets{"kv_cache.budget=1000 tokens", "output.timeseries_interval=1 s"};
  const Files unwatched = files_of(run_lawful(trace, sets, {.go_on = {}, .time_series = true}));

  std::int64_t questions = 0;
  const auto count = [&](const serving::RunProgress&, std::optional<std::int64_t>) { return ++questions > 0; };
  CHECK(files_of(run_lawful(trace, sets, {.go_on = count, .time_series = true})) == unwatched);
  CHECK(questions >= 4);

  SimTime asked;
  const auto stop = [&](const serving::RunProgress& progress, std::optional<std::int64_t>) {
    asked = progress.now;
    return false;
  };
  const serving::RunResult stopped = run_lawful(trace, sets, {.go_on = stop, .time_series = true});
  CHECK(stopped.summary.interrupted);
  CHECK(stopped.summary.arrived < 20'000);
  CHECK(stopped.summary.unfinished > 0);
  CHECK(stopped.summary.makespan_s == to_seconds(asked));
}
