#include "sim/study/calibrate/calibrate.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "sim/base/diagnostics.h"
#include "sim/scenario/load.h"
#include "sim/serving/names.h"
#include "tests/workload/trace_fixture.h"

using namespace blockyard;
using namespace blockyard::study;

namespace {

const std::filesystem::path kConfigs = std::filesystem::path(BLOCKYARD_SOURCE_DIR) / "configs";

scenario::Document engine_with(const std::vector<std::string>& sets = {}) {
  constexpr const char* text = R"(name: engine
model: llama-3-8b
hardware: {gpu: a100-80gb-sxm}
engine: {max_num_seqs: 64, max_model_len: 8192}
kv_cache: {budget: 20000 blocks}
)";
  return scenario::parse(text, "engine.yaml", serving::scenario_schema(kConfigs), sets);
}

// 200 requests, measured on the engine that the scenario describes.
MeasuredRun measured_on(const scenario::Document& document) {
  MeasuredRun run;
  run.file.name = "measured.csv";
  for (std::int64_t i = 0; i < 200; ++i) {
    MeasuredRequest r;
    r.arrival = SimTime(i * 150'000'000 + i * i % 7 * 10'000'000);
    r.prompt_tokens = Tokens(200 + 371 * i % 1500);
    r.output_tokens = Tokens(20 + 53 * i % 150);
    run.requests.push_back(r);
  }
  const serving::RequestsOverride requests = requests_of(run);
  const serving::RunResult result = serving::run(document, kConfigs, {.requests = &requests});
  for (std::size_t i = 0; i < run.requests.size(); ++i) {
    const metrics::RequestRecord& s = result.collector.records()[i];
    MeasuredRequest& r = run.requests[i];
    r.ttft = s.first_token - s.arrival;
    r.e2e = s.ended - s.arrival;
    r.tpot_ns = static_cast<double>((*r.e2e - *r.ttft).count()) / static_cast<double>(r.output_tokens.count() - 1);
  }
  return run;
}

double share_of(const Validation& v, const std::string& name) {
  for (const SignedError& e : errors_of(v)) {
    if (e.name == name) return e.share;
  }
  return 1;
}

}  // namespace

TEST_CASE("calibration finds the constants of the server that was measured, and judges on other requests") {
  const MeasuredRun run = measured_on(engine_with({"cost.front_end=9 ms", "cost.host_time=2 ms"}));
  const Calibrated c =
      calibrate(engine_with(), kConfigs, run,
                {.fit = {"front_end", "host_time"}, .holdout = 0.25, .leave_out_first = 0, .go_on = {}});
  CHECK(c.fitted_requests == 150);
  CHECK(c.held_out_requests == 50);
  CHECK(c.result.front_end_s == Approx(9e-3).epsilon(0.2));
  CHECK(c.result.engine.per_step_s == Approx(2e-3).epsilon(0.05));
  CHECK(std::abs(share_of(c.before, "tpot_mean")) > 0.05);
  CHECK(std::abs(share_of(c.after, "tpot_mean")) < 0.01);
  CHECK(std::abs(share_of(c.after, "ttft_mean")) < 0.03);
}

TEST_CASE("a constant that the requests do not show is said to be unknown") {
  const MeasuredRun run = measured_on(engine_with({"cost.host_time=2 ms"}));
  // On one GPU there are no ranks.
  const Calibrated c =
      calibrate(engine_with(), kConfigs, run,
                {.fit = {"host_time", "host_rank"}, .holdout = 0.25, .leave_out_first = 0, .go_on = {}});
  CHECK(c.constants[0].fitted.identified == Identified::yes);
  CHECK(c.constants[1].fitted.identified == Identified::no_effect);
  CHECK(print_calibration(c).find("not identified: these requests do not depend on it") != std::string::npos);
  CHECK(calibration_yaml(c).find("host_rank") == std::string::npos);
}

TEST_CASE("what calibrate writes is what cost.calibration takes") {
  const MeasuredRun run = measured_on(engine_with({"cost.front_end=9 ms"}));
  const Calibrated c =
      calibrate(engine_with(), kConfigs, run,
                {.fit = {"front_end", "memory_efficiency"}, .holdout = 0.3, .leave_out_first = 0, .go_on = {}});
  const workload::TraceFolder folder;
  const std::string file = folder.write("fitted.yaml", calibration_yaml(c));
  const Validation v = validate(engine_with({"cost.calibration=" + file}), kConfigs, run, {});
  CHECK(std::abs(share_of(v, "ttft_mean")) < 0.02);
  REQUIRE_FALSE(v.summary.identity.provenance.empty());
  CHECK(v.summary.identity.provenance[0].find(
            "fitted to 140 requests of llama-3-8b on 1 x a100-80gb-sxm (measured.csv)") != std::string::npos);
  // The scenario's own word goes before the file's.
  const Validation own = validate(engine_with({"cost.calibration=" + file, "cost.front_end=none"}), kConfigs, run, {});
  CHECK(share_of(own, "ttft_mean") < share_of(v, "ttft_mean") - 0.03);
}

TEST_CASE("too few requests, and cost models without constants, are refused") {
  MeasuredRun run = measured_on(engine_with());
  const CalibrateOptions how{.fit = {"host_time"}, .holdout = 0.3, .leave_out_first = 0, .go_on = {}};
  CHECK_THROWS_AS(calibrate(engine_with({"cost.model=fixed", "cost.step=10 ms"}), kConfigs, run, how), InputError);
  run.requests.resize(20);
  CHECK_THROWS_AS(calibrate(engine_with(), kConfigs, run, how), InputError);
}

TEST_CASE("each of the two verdicts is one run, and calibration can be interrupted in them too") {
  const MeasuredRun run = measured_on(engine_with({"cost.host_time=2 ms"}));
  CalibrateOptions how{.fit = {"host_time"}, .holdout = 0.25, .leave_out_first = 0, .go_on = {}};
  int asked_of = -1;
  int runs = 0;
  how.go_on = [&](int number) {
    if (number != asked_of) ++runs;
    asked_of = number;
    return true;
  };
  const Calibrated whole = calibrate(engine_with(), kConfigs, run, how);
  CHECK_FALSE(whole.interrupted);
  CHECK(runs == whole.runs + 1);  // asked before the first run, and with one more in each
  CHECK(whole.fitted_before.compared == 150);
  CHECK(whole.before.compared == 50);
  how.go_on = [&](int number) { return number < whole.runs - 1; };
  CHECK(calibrate(engine_with(), kConfigs, run, how).interrupted);
}
