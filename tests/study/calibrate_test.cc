#include "sim/study/calibrate/calibrate.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <utility>

#include "sim/base/diagnostics.h"
#include "sim/base/random.h"
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

std::vector<MeasuredRequest> some_requests(std::int64_t count) {
  std::vector<MeasuredRequest> requests;
  for (std::int64_t i = 0; i < count; ++i) {
    MeasuredRequest r;
    r.arrival = SimTime(i * 150'000'000 + i * i % 7 * 10'000'000);
    r.prompt_tokens = Tokens(200 + 371 * i % 1500);
    r.output_tokens = Tokens(20 + 53 * i % 150);
    requests.push_back(r);
  }
  return requests;
}

// Measured on the engine that the scenario describes; each time is off by a factor of its own of this coefficient of
// variation.
MeasuredRun measured_on(const scenario::Document& document, std::vector<MeasuredRequest> requests, double noise) {
  MeasuredRun run;
  run.file.name = "measured.csv";
  run.requests = std::move(requests);
  RandomStream draws(1, "measurement");
  const auto read = [&](SimTime time) {
    return SimTime(std::llround(static_cast<double>(time.count()) * draws.lognormal(1, noise)));
  };
  const serving::RequestsOverride given = requests_of(run);
  const serving::RunResult result = serving::run(document, kConfigs, {.requests = &given});
  for (std::size_t i = 0; i < run.requests.size(); ++i) {
    const metrics::RequestRecord& s = result.collector.records()[i];
    MeasuredRequest& r = run.requests[i];
    r.ttft = read(s.first_token - s.arrival);
    r.e2e = *r.ttft + read(s.ended - s.first_token);
    r.tpot_ns = static_cast<double>((*r.e2e - *r.ttft).count()) / static_cast<double>(r.output_tokens.count() - 1);
  }
  return run;
}

MeasuredRun measured_on(const scenario::Document& document) { return measured_on(document, some_requests(200), 0); }

const FittedConstant& constant(const Calibrated& c, const std::string& name) {
  for (const FittedConstant& f : c.constants) {
    if (f.name == name) return f;
  }
  FAIL("no constant " << name);
  return c.constants.front();
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
  CHECK(print_calibration(c).find("host_rank  0 s  these requests do not depend on it") != std::string::npos);
  CHECK(calibration_yaml(c).find("\nhost_rank:") == std::string::npos);
}

TEST_CASE("constants that matter are found again in noisy measurements, whichever others are asked for beside them") {
  const workload::TraceFolder folder;
  const std::string truth = folder.write("truth.yaml",
                                         "source: made up\nerror: none\nmemory_efficiency: 0.7\n"
                                         "compute_efficiency: 0.5\nfront_end: 9 ms\n");
  const MeasuredRun run = measured_on(engine_with({"cost.calibration=" + truth}), some_requests(400), 0.05);
  const Calibrated c = calibrate(
      engine_with(), kConfigs, run,
      {.fit = {"memory_efficiency", "compute_efficiency", "front_end", "host_time", "host_rank", "sampler_overhead"},
       .holdout = 0.25,
       .leave_out_first = 0,
       .go_on = {}});
  INFO(print_calibration(c));
  CHECK(c.result.calibration.memory_efficiency == Approx(0.7).epsilon(0.03));
  CHECK(c.result.calibration.compute_efficiency == Approx(0.5).epsilon(0.05));
  CHECK(c.result.front_end_s == Approx(9e-3).epsilon(0.15));
  // The truth lies within some standard errors of what was found.
  for (const auto& [name, value] :
       {std::pair("memory_efficiency", 0.7), std::pair("compute_efficiency", 0.5), std::pair("front_end", 9e-3)}) {
    const FittedParameter& found = constant(c, name).fitted;
    CHECK(std::abs(found.value - value) < 4 * found.standard_error);
  }
  CHECK(constant(c, "host_rank").fitted.identified == Identified::no_effect);
  CHECK(constant(c, "host_time").fitted.identified != Identified::yes);
  CHECK(constant(c, "sampler_overhead").fitted.identified != Identified::yes);
}

TEST_CASE("constants that do nearly the same are told apart where the load varies, each as sure as it is said to be") {
  const workload::TraceFolder folder;
  const std::string truth =
      folder.write("truth.yaml", "source: made up\nerror: none\nmemory_efficiency: 0.7\nhost_time: 2 ms\n");
  RandomStream draws(3, "arrivals");
  std::vector<MeasuredRequest> requests = some_requests(1000);
  SimTime at;
  for (MeasuredRequest& r : requests) {
    r.arrival = at += SimTime(std::llround(draws.exponential(100e6)));
    r.output_tokens = Tokens(std::llround(draws.lognormal(200, 0.8)) + 2);
  }
  const std::string gpu = "hardware.gpu=h100-80gb-sxm";
  const std::string seats = "engine.max_num_seqs=256";
  for (const double noise : {0.0, 0.03}) {
    const MeasuredRun run = measured_on(engine_with({gpu, seats, "cost.calibration=" + truth}), requests, noise);
    const Calibrated c =
        calibrate(engine_with({gpu, seats}), kConfigs, run,
                  {.fit = {"memory_efficiency", "host_time"}, .holdout = 0.25, .leave_out_first = 0, .go_on = {}});
    INFO(print_calibration(c));
    const FittedParameter& efficiency = constant(c, "memory_efficiency").fitted;
    const FittedParameter& host = constant(c, "host_time").fitted;
    REQUIRE(efficiency.identified == Identified::yes);
    REQUIRE(host.identified == Identified::yes);
    CHECK(std::abs(efficiency.value - 0.7) < 4 * efficiency.standard_error + 1e-3);
    CHECK(std::abs(host.value - 2e-3) < 4 * host.standard_error + 1e-5);
    CHECK(c.result.calibration.memory_efficiency == Approx(0.7).epsilon(0.1));
    CHECK(c.runs < 60);
  }
}

TEST_CASE("where only some times were measured, what held up a few requests does not bend the fit") {
  MeasuredRun run = measured_on(engine_with({"cost.host_time=4 ms"}), some_requests(600), 0.02);
  for (std::size_t i = 0; i < run.requests.size(); ++i) {
    MeasuredRequest& r = run.requests[i];
    r.ttft.reset();
    r.tpot_ns.reset();
    if (i % 33 == 0) r.e2e = SimTime(50 * r.e2e->count());
  }
  const Calibrated c = calibrate(engine_with(), kConfigs, run,
                                 {.fit = {"host_time"}, .holdout = 0.25, .leave_out_first = 0, .go_on = {}});
  INFO(print_calibration(c));
  CHECK(c.result.engine.per_step_s == Approx(4e-3).epsilon(0.25));  // 5.9 ms if they counted in full
}

TEST_CASE("of two constants that do the same to these requests the one named first is fitted") {
  std::vector<MeasuredRequest> requests = some_requests(200);
  for (MeasuredRequest& r : requests)
    r.prompt_tokens = Tokens(8);  // every step reads the weights, and does little else
  const MeasuredRun run = measured_on(engine_with({"cost.host_time=2 ms"}), requests, 0.02);
  const auto fit = [&](const std::string& first, const std::string& second) {
    return calibrate(engine_with(), kConfigs, run,
                     {.fit = {first, second}, .holdout = 0.25, .leave_out_first = 0, .go_on = {}});
  };
  const Calibrated right = fit("host_time", "memory_efficiency");
  INFO(print_calibration(right));
  CHECK(right.result.engine.per_step_s == Approx(2e-3).epsilon(0.1));
  CHECK(constant(right, "memory_efficiency").fitted.identified == Identified::like_another);
  const Calibrated other = fit("memory_efficiency", "host_time");
  INFO(print_calibration(other));
  CHECK(constant(other, "memory_efficiency").fitted.identified == Identified::yes);
  CHECK(constant(other, "host_time").fitted.identified == Identified::like_another);
  CHECK(constant(other, "host_time").like == "memory_efficiency");
}

TEST_CASE("what a workload cannot tell is kept: efficiency of compute where prompts are short, what is right already") {
  const workload::TraceFolder folder;
  const std::string truth =
      folder.write("truth.yaml", "source: made up\nerror: none\ncompute_efficiency: 0.4\nhost_time: 2 ms\n");
  std::vector<MeasuredRequest> requests = some_requests(200);
  for (MeasuredRequest& r : requests) r.prompt_tokens = Tokens(8);
  const MeasuredRun run = measured_on(engine_with({"cost.calibration=" + truth}), requests, 0.02);
  const Calibrated c = calibrate(engine_with(), kConfigs, run,
                                 {.fit = {"host_time", "memory_efficiency", "compute_efficiency", "front_end"},
                                  .holdout = 0.25,
                                  .leave_out_first = 0,
                                  .go_on = {}});
  INFO(print_calibration(c));
  CHECK(c.result.engine.per_step_s == Approx(2e-3).epsilon(0.1));
  for (const char* name : {"memory_efficiency", "compute_efficiency", "front_end"}) {
    CHECK(constant(c, name).fitted.identified != Identified::yes);
    CHECK(constant(c, name).fitted.value == constant(c, name).before);
    CHECK(calibration_yaml(c).find(std::string("\n") + name + ":") == std::string::npos);
  }
}

TEST_CASE("a server that was slow at first and then full is not given a front end that it has not") {
  std::vector<MeasuredRequest> requests = some_requests(300);
  for (std::size_t i = 0; i < requests.size(); ++i)
    requests[i].arrival = SimTime(static_cast<std::int64_t>(i) * 20'000'000);
  MeasuredRun run = measured_on(engine_with({"engine.max_num_seqs=16"}), requests, 0.02);
  for (std::size_t i = 0; i < 20; ++i) {
    *run.requests[i].ttft += SimTime(60'000'000);
    *run.requests[i].e2e += SimTime(60'000'000);
  }
  const Calibrated c = calibrate(
      engine_with({"engine.max_num_seqs=16"}), kConfigs, run,
      {.fit = {"memory_efficiency", "host_time", "front_end"}, .holdout = 0.3, .leave_out_first = 0, .go_on = {}});
  INFO(print_calibration(c));
  CHECK(constant(c, "front_end").fitted.identified == Identified::no_gain);
  CHECK(constant(c, "front_end").fitted.refused > 5e-3);
  CHECK(calibration_yaml(c).find("# front_end is kept") != std::string::npos);
}

TEST_CASE("all constants at once on a short trace: few can be told, and those do no harm") {
  const MeasuredRun run = measured_on(engine_with({"cost.host_time=4 ms"}), some_requests(40), 0.05);
  const Calibrated c = calibrate(engine_with(), kConfigs, run,
                                 {.fit = constants_named("all"), .holdout = 0.3, .leave_out_first = 0, .go_on = {}});
  INFO(print_calibration(c));
  CHECK(c.constants.size() == cost::constant_docs().size());
  const auto told = std::ranges::count_if(
      c.constants, [](const FittedConstant& f) { return f.fitted.identified == Identified::yes; });
  CHECK(told >= 1);
  CHECK(told <= 3);
  CHECK(std::abs(share_of(c.after, "tpot_mean")) < std::abs(share_of(c.before, "tpot_mean")) / 2);
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
  CHECK(v.summary.identity.provenance[0].find("nobody has seen") == std::string::npos);
  const Validation other = validate(engine_with({"cost.calibration=" + file, "hardware.gpu=l4"}), kConfigs, run, {});
  CHECK(other.summary.identity.provenance[0].find("not of llama-3-8b on 1 x l4, where nobody has seen the error") !=
        std::string::npos);
  // The scenario's own word goes before the file's.
  const Validation own = validate(engine_with({"cost.calibration=" + file, "cost.front_end=none"}), kConfigs, run, {});
  CHECK(share_of(own, "ttft_mean") < share_of(v, "ttft_mean") - 0.03);
}

TEST_CASE("the file says what the fit rests on, too") {
  const MeasuredRun run = measured_on(engine_with({"cost.front_end=9 ms", "cost.host_time=2 ms"}));
  const Calibrated c = calibrate(engine_with({"cost.front_end=9 ms"}), kConfigs, run,
                                 {.fit = {"host_time"}, .holdout = 0.3, .leave_out_first = 0, .go_on = {}});
  REQUIRE(c.given.size() == 1);
  CHECK(c.given[0].name == "front_end");
  const workload::TraceFolder folder;
  const std::string file = folder.write("fitted.yaml", calibration_yaml(c));
  const Validation v = validate(engine_with({"cost.calibration=" + file}), kConfigs, run, {});
  CHECK(std::abs(share_of(v, "ttft_mean")) < 0.02);
  CHECK(std::abs(share_of(v, "tpot_mean")) < 0.02);
  const Validation other =
      validate(engine_with({"cost.calibration=" + file, "cost.front_end=none"}), kConfigs, run, {});
  CHECK(other.summary.identity.provenance[0].find("with cost.front_end of the scenario in place of the file's") !=
        std::string::npos);
  CHECK(v.summary.identity.provenance[0].find("in place of the file's") == std::string::npos);
  // What the file does not give is the scenario's to say.
  const std::string efficiency =
      folder.write("efficiency.yaml", "source: made up\nerror: none\nmemory_efficiency: 0.7\n");
  const Validation own =
      validate(engine_with({"cost.calibration=" + efficiency, "cost.front_end=9 ms"}), kConfigs, run, {});
  CHECK(own.summary.identity.provenance[0].find("in place of the file's") == std::string::npos);
}

TEST_CASE("too few requests, and cost models without constants, are refused") {
  MeasuredRun run = measured_on(engine_with());
  const CalibrateOptions how{.fit = {"host_time"}, .holdout = 0.3, .leave_out_first = 0, .go_on = {}};
  CHECK_THROWS_AS(calibrate(engine_with({"cost.model=fixed", "cost.step=10 ms"}), kConfigs, run, how), InputError);
  CHECK_THROWS_AS(calibrate(engine_with({"kv_cache.strategy=none"}), kConfigs, run, how), InputError);
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
