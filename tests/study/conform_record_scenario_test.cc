// A run of ours, written as a recorded run, is followed by conform to its end.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/scenario/load.h"
#include "sim/serving/names.h"
#include "sim/serving/run.h"
#include "sim/study/conform/record_scenario.h"
#include "sim/study/conform/replay.h"

using namespace blockyard;
using namespace blockyard::study;

namespace {

const std::filesystem::path kConfigs = std::filesystem::path(BLOCKYARD_SOURCE_DIR) / "configs";

scenario::Document scenario_with(const std::vector<std::string>& sets) {
  constexpr const char* kText = R"(
model: qwen2.5-7b
hardware: {gpu: a100-80gb-sxm}
workload:
  generate:
    requests: 60
    arrivals: {process: poisson, rate: 40 req/s}
    prefix: {groups: 3, tokens: 40, zipf: 1}
    prompt_tokens: {distribution: uniform, low: 20, high: 200}
    output_tokens: {distribution: uniform, low: 1, high: 150}
engine: {max_num_seqs: 16, max_num_batched_tokens: 256, max_model_len: 400}
kv_cache: {budget: 90 blocks}
admission: {never_fits: engine}
cost: {model: fixed, step: 10 ms}
)";
  return scenario::parse(kText, "record.yaml", serving::scenario_schema(kConfigs), sets);
}

}  // namespace

TEST_CASE("a scenario's record replays identically, and has the steps and preemptions of its run") {
  const std::vector<std::vector<std::string>> variants{
      {},
      {"prefix_cache.enable=false"},
      {"engine.queue_order=priority", "engine.long_prefill_token_threshold=30"},
      {"engine.scheduler=vllm-v0"},
      {"engine.scheduler=vllm-v0", "prefix_cache.enable=false", "preemption.mode=swap",
       "engine.enable_chunked_prefill=false", "engine.max_num_batched_tokens=512"}};
  for (const std::vector<std::string>& sets : variants) {
    const scenario::Document scenario = scenario_with(sets);
    const Record record = record_scenario(scenario, kConfigs);
    REQUIRE(record.requests.size() == 60);
    for (const StepPath path : {StepPath::fast, StepPath::general}) {
      const ReplayResult result = replay(record, path);
      INFO((result.difference ? to_text(*result.difference, "record") : ""));
      CHECK_FALSE(result.difference);
    }
    const metrics::Summary run = serving::run(scenario, kConfigs).summary;
    CHECK(run.steps == std::ssize(record.steps));
    CHECK(run.finished == record.end.json.at("finished").get<std::int64_t>());
    std::int64_t preempted = 0;
    for (const RecordLine& line : record.steps) {
      for (const char* key : {"pre", "so"}) preempted += line.json.contains(key) ? std::ssize(line.json.at(key)) : 0;
    }
    CHECK(run.preemptions == preempted);
  }
}

TEST_CASE("what the format cannot say is refused, all of it at once") {
  const scenario::Document scenario =
      scenario_with({"kv_cache.strategy=contiguous", "engine.async_scheduling=true", "admission.max_queue=3"});
  try {
    (void)record_scenario(scenario, kConfigs);
    FAIL("nothing was refused");
  } catch (const InputError& error) {
    CHECK(error.diagnostics().size() == 3);
  }
}

TEST_CASE("what would make another run of its record is refused") {
  for (const char* set :
       {"prefix_cache.eviction=fifo", "prefix_cache.admission=second_hit", "prefix_cache.pin=32 tokens",
        "prefix_cache.quota=0.5", "prefix_cache.salt=tenant", "prefix_cache.tiers.host.size=1 GiB", "run.max_time=1 s",
        "run.max_requests=3", "run.until.metric=ttft"}) {
    INFO(set);
    CHECK_THROWS_AS(record_scenario(scenario_with({set}), kConfigs), InputError);
  }
}
