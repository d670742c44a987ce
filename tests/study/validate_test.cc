#include "sim/study/validate/validate.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/base/diagnostics.h"
#include "sim/scenario/load.h"
#include "sim/serving/names.h"
#include "sim/study/validate/validation_report.h"
#include "tests/workload/trace_fixture.h"

using namespace blockyard;
using namespace blockyard::study;

namespace {

const std::filesystem::path kConfigs = std::filesystem::path(BLOCKYARD_SOURCE_DIR) / "configs";

scenario::Document an_engine(const std::vector<std::string>& sets = {}) {
  constexpr const char* text = R"(name: engine
model: llama-3-8b
hardware: {gpu: a100-80gb-sxm}
engine: {max_num_seqs: 16, max_model_len: 8192}
kv_cache: {budget: 1000 blocks}
)";
  return scenario::parse(text, "engine.yaml", serving::scenario_schema(kConfigs), sets);
}

// 60 requests, 20 prompts that come again, in bursts.
MeasuredRun some_requests() {
  MeasuredRun run;
  for (std::int64_t i = 0; i < 60; ++i) {
    MeasuredRequest r;
    r.arrival = SimTime(i / 4 * 500'000'000 + i);
    r.prompt_tokens = Tokens(100 + 37 * (i % 20));
    r.output_tokens = Tokens(1 + 13 * i % 97);
    r.content = {{i % 20 * 4096, r.prompt_tokens.count()}};
    run.requests.push_back(r);
  }
  return run;
}

// What the simulation says, as if it had been measured.
MeasuredRun simulated(const scenario::Document& document, double slower = 1) {
  MeasuredRun run = some_requests();
  const serving::RequestsOverride requests = requests_of(run);
  const serving::RunResult result = serving::run(document, kConfigs, {.requests = &requests});
  REQUIRE(result.summary.finished == 60);
  for (std::size_t i = 0; i < run.requests.size(); ++i) {
    const metrics::RequestRecord& s = result.collector.records()[i];
    MeasuredRequest& r = run.requests[i];
    const auto times = [&](SimTime t) { return SimTime(std::llround(slower * static_cast<double>(t.count()))); };
    r.ttft = times(s.first_token - s.arrival);
    r.e2e = times(s.ended - s.arrival);
    if (r.output_tokens > Tokens(1))
      r.tpot_ns = static_cast<double>((*r.e2e - *r.ttft).count()) / static_cast<double>(r.output_tokens.count() - 1);
  }
  return run;
}

double error_of(const Validation& v, const std::string& name) {
  for (const SignedError& e : errors_of(v)) {
    if (e.name == name) return e.share;
  }
  FAIL("no figure " << name);
  return 0;
}

}  // namespace

TEST_CASE("a simulation beside itself has no error anywhere") {
  const scenario::Document document = an_engine();
  const Validation v = validate(document, kConfigs, simulated(document), {});
  CHECK(v.compared == 60);
  CHECK(errors_of(v).size() == 19);
  for (const SignedError& e : errors_of(v)) {
    INFO(e.name);
    CHECK(std::abs(e.share) < 1e-12);
  }
  CHECK(v.summary.prefix_cache.hit_ratio().value() > 0.3);  // what prompts share reached the engine
}

TEST_CASE("errors are simulated / measured - 1") {
  const scenario::Document document = an_engine();
  const Validation v = validate(document, kConfigs, simulated(document, 1.25), {});
  for (const char* name : {"ttft_mean", "ttft_p99", "tpot_p50", "e2e_mean"}) {
    INFO(name);
    CHECK(error_of(v, name) == Approx(-0.2).epsilon(1e-6));
  }
  CHECK(error_of(v, "e2e_per_request") == Approx(0.2).epsilon(1e-6));
}

TEST_CASE("requests left out are simulated all the same") {
  const scenario::Document document = an_engine();
  MeasuredRun run = simulated(document);
  for (std::size_t i = 0; i < 10; ++i) run.requests[i].ttft = SimTime(9'000'000'000);  // a server still warming up
  CHECK(error_of(validate(document, kConfigs, run, {}), "ttft_mean") < -0.5);
  const Validation v = validate(document, kConfigs, run, {.leave_out_first = 10});
  CHECK(v.compared == 50);
  CHECK(v.summary.arrived == 60);
  CHECK(std::abs(error_of(v, "ttft_mean")) < 1e-12);
  CHECK(v.figures.empty());  // makespan and rates are of all
}

TEST_CASE("the report names both sides, and the JSON has every error by name") {
  const scenario::Document document = an_engine();
  MeasuredRun run = simulated(document, 1.25);
  run.file.name = "measured.csv";
  run.file.format = "csv";
  const Validation v = validate(document, kConfigs, run, {});
  const std::string text = print_validation(v);
  CHECK(text.find("engine: llama-3-8b on 1 x a100-80gb-sxm, beside measured.csv") != std::string::npos);
  CHECK(text.find("-20.0 %") != std::string::npos);
  CHECK(text.find("constants   roofline, a100-80gb-sxm") != std::string::npos);
  const nlohmann::ordered_json json = validation_json(v);
  CHECK(json["error_pct"]["ttft_mean"].get<double>() == Approx(-20));
  CHECK(json["times"]["e2e_s"]["measured"]["count"] == 60);
}

TEST_CASE("what is measured as 0 has no relative error, and a request that is does not make the others' less") {
  const scenario::Document document = an_engine();
  MeasuredRun run = simulated(document, 1.25);
  for (std::size_t i = 0; i < 59; ++i) run.requests[i].ttft = SimTime(0);
  Validation v = validate(document, kConfigs, run, {});
  CHECK(error_of(v, "ttft_per_request") == Approx(0.2).epsilon(1e-6));  // of the one that has an error
  CHECK(measured_as_zero(v) == std::vector<std::string>{"ttft_p50", "ttft_p90"});
  CHECK(print_validation(v).find("TTFT of 59 requests is measured as 0") != std::string::npos);

  for (MeasuredRequest& r : run.requests) {
    r.ttft = r.e2e;
    if (r.tpot_ns) r.tpot_ns = 0;
  }
  v = validate(document, kConfigs, run, {});
  const std::vector<std::string> tpot{"tpot_mean", "tpot_p50", "tpot_p90", "tpot_p99", "tpot_per_request"};
  CHECK(measured_as_zero(v) == tpot);
  for (const SignedError& e : errors_of(v)) CHECK_FALSE(e.name.starts_with("tpot"));
  const nlohmann::ordered_json errors = validation_json(v)["error_pct"];
  for (const std::string& name : tpot) CHECK(errors.at(name).is_null());
  CHECK(print_validation(v).find("TPOT of each request") != std::string::npos);
}

TEST_CASE("the report says what was read of the measured file, what prompts share by, and which rows are left out") {
  const scenario::Document document = an_engine();
  MeasuredRun run = simulated(document);
  run.file = {.name = "m.csv",
              .format = "csv",
              .read = {"arrival_s", "e2e_s"},
              .not_read = {"session"},
              .shared_by = SharedBy::blocks,
              .blocks_file = "m.blocks.csv",
              .failed = 3,
              .without_output = 0,
              .untimed = 0,
              .out_of_order = 1};
  const Validation v = validate(document, kConfigs, run, {});
  const std::string text = print_validation(v);
  CHECK(text.find("read        arrival_s, e2e_s\nnot read    session\n"
                  "prompts     share blocks of 16 tokens, as m.blocks.csv beside it names them\n"
                  "rows        3 failed when measured: left out\n"
                  "rows        1 behind one that arrived later: put in order of arrival\n") != std::string::npos);
  const nlohmann::ordered_json measured = validation_json(v)["measured"];
  CHECK(measured["not_read"] == nlohmann::ordered_json{"session"});
  CHECK(measured["shared_by"] == "blocks");
  CHECK(measured["failed"] == 3);
  run.file.shared_by = SharedBy::nothing;
  CHECK(print_measured_file(run.file).find("what they share is not told") != std::string::npos);
}

TEST_CASE("the figures of a validation are known before it is run") {
  const scenario::Document document = an_engine();
  const MeasuredRun run = simulated(document);
  std::vector<std::string> names;
  for (const SignedError& e : errors_of(validate(document, kConfigs, run, {}))) names.push_back(e.name);
  CHECK(figure_names(run, true) == names);
  MeasuredRun unknown = run;
  for (MeasuredRequest& r : unknown.requests) {
    r.ttft.reset();
    r.tpot_ns.reset();
    r.e2e.reset();
  }
  CHECK(figure_names(unknown, true).empty());
}

TEST_CASE("requests that only the measured server served are told, with the reason") {
  const scenario::Document document = an_engine();
  MeasuredRun run = simulated(document);
  run.requests[3].prompt_tokens = Tokens(1'000'000);
  const Validation v = validate(document, kConfigs, run, {});
  CHECK(v.compared == 59);
  CHECK(print_validation(v).find("not served  in the simulation: 1 rejected: prompt_too_long") != std::string::npos);
  CHECK(validation_json(v)["simulated"]["rejected"] == 1);
  CHECK(error_of(v, "not_served") == Approx(1.0 / 60));
  run.requests[3].prompt_tokens = Tokens(100);
  run.requests[3].output_tokens = Tokens(8'150);  // beyond the model's length
  const Validation cut = validate(an_engine({"engine.max_model_len=8192"}), kConfigs, run, {});
  CHECK(cut.compared == 59);
  CHECK(cut.cut_short == 1);
  CHECK(print_validation(cut).find("not served  in the simulation: 1 cut short at engine.max_model_len") !=
        std::string::npos);
  CHECK(error_of(cut, "not_served") == Approx(1.0 / 60));
  CHECK(print_validation(validate(document, kConfigs, simulated(document), {})).find("not served") ==
        std::string::npos);
}

TEST_CASE("the report names the engine that was simulated, and whether its preset was chosen") {
  MeasuredRun run = some_requests();
  for (MeasuredRequest& r : run.requests) r.e2e = SimTime(1'000'000'000);
  const Validation by_default = validate(an_engine(), kConfigs, run, {});
  CHECK(print_validation(by_default)
            .find("engine      scheduler vllm-v1, preset vllm-0.13 (the default): synchronous scheduling\n") !=
        std::string::npos);
  const Validation chosen = validate(
      an_engine({"engine.preset=vllm-0.14", "hardware.tensor_parallel_size=2", "hardware.data_parallel_size=2"}),
      kConfigs, run, {});
  CHECK(
      print_validation(chosen).find("engine      scheduler vllm-v1, preset vllm-0.14: asynchronous scheduling, tensor "
                                    "parallel 2, data parallel 2\n") != std::string::npos);
  const nlohmann::ordered_json engine = validation_json(chosen)["engine"];
  CHECK(engine["gpus"] == 4);
  CHECK(engine["tensor_parallel_size"] == 2);
  CHECK(engine["pipeline_parallel_size"] == 1);
  CHECK(engine["data_parallel_size"] == 2);
  CHECK(engine["scheduler"] == "vllm-v1");
  CHECK(engine["preset"] == "vllm-0.14");
  CHECK(engine["async_scheduling"] == true);
}

TEST_CASE("the prefix hits of the simulated run are told, or why there are none") {
  const scenario::Document document = an_engine();
  MeasuredRun run = simulated(document);
  CHECK(print_validation(validate(document, kConfigs, run, {}))
            .find(" % of the prompts' tokens found in the simulated prefix cache\n") != std::string::npos);
  for (MeasuredRequest& r : run.requests) r.content.clear();
  CHECK(
      print_validation(validate(document, kConfigs, run, {})).find("prefix hits the simulated engine has no prefix") !=
      std::string::npos);
}

TEST_CASE("the workload of the scenario is not read: its trace need not be there, and one note says so") {
  const workload::TraceFolder folder;
  const std::string file = folder.write("s.yaml", R"(model: llama-3-8b
hardware: {gpu: a100-80gb-sxm}
workload:
  trace: {file: not-there.csv, rate_scale: 2}
  clients: {users: 3}
engine: {max_num_seqs: 16, max_model_len: 8192}
)");
  const std::vector<std::string> sets{"workload.n=4"};
  MeasuredRun run = some_requests();
  for (MeasuredRequest& r : run.requests) r.e2e = SimTime(1'000'000'000);
  const Validation v = validate(load_engine(file, kConfigs, sets), kConfigs, run, {});
  CHECK(v.compared == 60);
  REQUIRE(v.notes.size() == 1);
  CHECK(v.notes[0].find("workload section of the scenario is not used") != std::string::npos);
  CHECK(print_validation(v).find("has no effect") == std::string::npos);
  CHECK(validate(an_engine(), kConfigs, run, {}).notes.empty());
  CHECK_THROWS_AS(load_engine(file, kConfigs, std::vector<std::string>{"engine.max_num_seq=4"}), InputError);
}

TEST_CASE("another model and a cap of the client are told, as far as a benchmark's result says them") {
  CHECK(may_be_model("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"));
  CHECK(may_be_model("Qwen/Qwen2.5-7B", "qwen2.5-7b"));
  CHECK_FALSE(may_be_model("meta-llama/Llama-3.1-8B", "llama-3-8b"));
  CHECK_FALSE(may_be_model("facebook/opt-1.3b", "opt-13b"));
  CHECK_FALSE(may_be_model("Qwen/Qwen2.5-72B", "qwen2.5-7b"));
  const scenario::Document document = an_engine();
  MeasuredFile file;
  file.client = {{"model_id", "Meta-Llama-3-8B"}, {"max_concurrency", "none"}};
  CHECK(differences(document, "llama-3-8b", file).empty());
  file.client = {{"model_id", "Qwen2.5-72B"}, {"max_concurrency", "4"}};
  const std::vector<std::string> notes = differences(document, "llama-3-8b", file);
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].find("called its model Qwen2.5-72B, the scenario's is llama-3-8b") != std::string::npos);
  CHECK(notes[1].find("at most 4 requests out at once") != std::string::npos);
}
