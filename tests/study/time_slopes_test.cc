#include "sim/study/calibrate/time_slopes.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>

#include "sim/scenario/load.h"
#include "sim/serving/assemble.h"
#include "sim/serving/names.h"
#include "sim/serving/run.h"
#include "sim/study/validate/validate.h"

using namespace blockyard;
using namespace blockyard::study;

namespace {

const std::filesystem::path kConfigs = std::filesystem::path(BLOCKYARD_SOURCE_DIR) / "configs";

scenario::Document engine_with(const std::vector<std::string>& sets) {
  constexpr const char* text = R"(name: engine
model: llama-3-8b
hardware: {gpu: a100-80gb-sxm}
engine: {max_num_seqs: 8, max_model_len: 8192}
kv_cache: {budget: 20000 blocks}
)";
  return scenario::parse(text, "engine.yaml", serving::scenario_schema(kConfigs), sets);
}

MeasuredRun arriving(std::vector<std::pair<SimTime, Tokens>> prompts, Tokens outputs) {
  MeasuredRun run;
  for (const auto& [arrival, prompt] : prompts) {
    MeasuredRequest r;
    r.arrival = arrival;
    r.prompt_tokens = prompt;
    r.output_tokens = outputs;
    run.requests.push_back(r);
  }
  return run;
}

// A run with some constant moved, what TimeSlopes foretold of it, and the run as it was.
struct Moved {
  std::vector<metrics::RequestRecord> before;
  std::vector<metrics::RequestRecord> after;
  std::vector<TimeSlopes::Answer> foretold;  // for a move by 1
};

Moved move(const scenario::Document& engine, const MeasuredRun& run, double& (*constant)(cost::Constants&), double by) {
  const serving::RequestsOverride requests = requests_of(run);
  const auto assembled = [&](const cost::Constants* constants) {
    return serving::assemble(engine, kConfigs, &requests, constants);
  };
  const cost::Constants start = assembled(nullptr).constants;
  cost::Constants there = start;
  constant(there) += by;
  std::vector<TimeSlopes::Moved> moved;
  moved.push_back({assembled(&there).cost, 1, to_time(there.front_end_s) - to_time(start.front_end_s)});
  TimeSlopes slopes(assembled(&start).cost, std::move(moved));
  const auto records = [&](const cost::Constants& constants, std::function<void(const serving::StepTaken&)> told) {
    return serving::run(engine, kConfigs,
                        {.constants = &constants, .requests = &requests, .step_taken = std::move(told)})
        .collector;
  };
  const metrics::Collector before = records(start, [&](const serving::StepTaken& step) { slopes.add(step); });
  Moved result{before.records(), records(there, {}).records(), {}};
  for (std::size_t i = 0; i < result.before.size(); ++i) {
    const auto replica = before.replica_of(static_cast<metrics::RecordId>(i)).value_or(0);
    result.foretold.push_back(slopes.of(result.before[i], replica, to_time(start.front_end_s)));
  }
  return result;
}

double nanoseconds(SimTime time) { return static_cast<double>(time.count()); }

// Steps are rounded to nanoseconds, each by itself.
void check_exact(const Moved& m, double rounding) {
  for (std::size_t i = 0; i < m.before.size(); ++i) {
    const metrics::RequestRecord& a = m.before[i];
    const metrics::RequestRecord& b = m.after[i];
    REQUIRE(a.outcome == metrics::Outcome::finished);
    INFO("request " << i);
    CHECK(m.foretold[i].to_first_token[0] == Approx(nanoseconds(b.first_token - a.first_token)).margin(rounding));
    CHECK(m.foretold[i].from_there_to_end[0] ==
          Approx(nanoseconds((b.ended - b.first_token) - (a.ended - a.first_token))).margin(rounding));
  }
}

double& memory_efficiency(cost::Constants& c) { return c.calibration.memory_efficiency; }
double& host_time(cost::Constants& c) { return c.engine.per_step_s; }
double& front_end(cost::Constants& c) { return c.front_end_s; }

}  // namespace

TEST_CASE("of requests that meet nobody the slopes foretell a run with other constants exactly") {
  REQUIRE(rc::check([] {
    const std::string stages = *rc::gen::element<std::string>("1", "2", "4");
    const int longest = stages == "1" ? 6000 : 2048;  // chunks of a prompt overlap in a pipeline
    std::vector<std::pair<SimTime, Tokens>> prompts;
    SimTime at;
    for (int i = 0; i < 5; ++i) {
      prompts.emplace_back(at, Tokens(*rc::gen::inRange(1, longest)));
      at += SimTime(20'000'000'000);
    }
    const MeasuredRun run = arriving(std::move(prompts), Tokens(*rc::gen::inRange(2, 100)));
    const scenario::Document engine = engine_with({"hardware.pipeline_parallel_size=" + stages});
    check_exact(move(engine, run, memory_efficiency, *rc::gen::inRange(-30, 30) / 100.0), 1e3);
    check_exact(move(engine, run, host_time, *rc::gen::inRange(1, 9) * 1e-3), 1e3);
    check_exact(move(engine, run, front_end, *rc::gen::inRange(1, 9) * 1e-3), 1e3);
  }));
}

TEST_CASE("of requests that all wait from the start, whatever the time, the slopes foretell a run exactly") {
  REQUIRE(rc::check([] {
    std::vector<std::pair<SimTime, Tokens>> prompts;
    for (int i = 0; i < 60; ++i) prompts.emplace_back(SimTime(0), Tokens(*rc::gen::inRange(1, 4000)));
    const MeasuredRun run = arriving(std::move(prompts), Tokens(*rc::gen::inRange(2, 60)));
    check_exact(move(engine_with({}), run, memory_efficiency, *rc::gen::inRange(-30, 30) / 100.0), 1e4);
    check_exact(move(engine_with({}), run, host_time, *rc::gen::inRange(1, 9) * 1e-3), 1e4);
  }));
}

TEST_CASE("a request that comes during a step keeps its place within it") {
  // The second comes a quarter into a decode step of the first.
  const scenario::Document engine = engine_with({"cost.model=fixed", "cost.step=8 ms"});
  const MeasuredRun run = arriving({{SimTime(0), Tokens(10)}, {SimTime(42'000'000), Tokens(10)}}, Tokens(20));
  const serving::RequestsOverride requests = requests_of(run);
  const auto cost_of = [&](const char* step) {
    return serving::assemble(engine_with({"cost.model=fixed", std::string("cost.step=") + step}), kConfigs, &requests)
        .cost;
  };
  std::vector<TimeSlopes::Moved> moved;
  moved.push_back({cost_of("9 ms"), 1e-3, SimTime(0)});
  TimeSlopes slopes(cost_of("8 ms"), std::move(moved));
  const metrics::Collector collector =
      serving::run(engine, kConfigs,
                   {.requests = &requests, .step_taken = [&](const serving::StepTaken& step) { slopes.add(step); }})
          .collector;
  const metrics::RequestRecord& second = collector.records()[1];
  REQUIRE(second.first_token == SimTime(56'000'000));  // 3/4 of a step, and one of its own
  const TimeSlopes::Answer answer = slopes.of(second, 0, SimTime(0));
  CHECK(answer.to_first_token[0] == Approx(1.75e9));
  CHECK(answer.from_there_to_end[0] == Approx(19e9));
}
