// The stages of a pipeline beside the whole model on one group of GPUs.
#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sim/cost/host_time.h"
#include "sim/cost/roofline.h"
#include "sim/model/hf_config.h"
#include "tests/cost/calibrated_gpus.h"
#include "tests/model/published_models.h"

using namespace blockyard;
using namespace blockyard::cost;

namespace {

std::unique_ptr<CostModel> in_stages(std::int64_t stages, std::int64_t tp = 1,
                                     const std::optional<model::LinkSpec>& link = {},
                                     const model::ModelSpec& spec = model::llama_3_8b()) {
  RooflineOptions options;
  options.stages = stages;
  options.parallelism.tensor = tp;
  options.stage_link = link;
  return make_roofline(spec, a100().gpu, a100().calibration, options);
}

model::ModelSpec catalogued(const std::string& name) {
  std::ifstream file(std::string(BLOCKYARD_SOURCE_DIR) + "/configs/models/" + name + ".json");
  return model::model_from_hf_json(std::string(std::istreambuf_iterator<char>(file), {}), name);
}

StepWork random_work(const CostModel& cost) {
  StepWork work;
  work.decode_sequences = *rc::gen::inRange<std::int64_t>(0, 300);
  work.decode_kv_tokens = work.decode_sequences * *rc::gen::inRange<std::int64_t>(1, 4000);
  work.sampled_sequences = work.decode_sequences;
  const int chunks = *rc::gen::inRange(work.decode_sequences == 0 ? 1 : 0, 4);
  for (int i = 0; i < chunks; ++i)
    cost.add_chunk(work, Tokens(*rc::gen::inRange<std::int64_t>(1, 3000)),
                   Tokens(*rc::gen::inRange<std::int64_t>(0, 9000)));
  return work;
}

}  // namespace

TEST_CASE("stages together compute what one group of GPUs does, and send on what it does not") {
  REQUIRE(rc::check([] {
    const std::int64_t tp = *rc::gen::element(1, 2, 4);
    const std::int64_t stages = *rc::gen::inRange<std::int64_t>(2, 33);
    const auto whole = in_stages(1, tp);
    const auto parts = in_stages(stages, tp);
    const StepWork work = random_work(*whole);
    std::vector<StagePass> passes(static_cast<std::size_t>(stages));
    parts->stage_passes(work, passes);
    SimTime computes;
    SimTime sends;
    for (const StagePass& pass : passes) {
      computes += pass.computes;
      sends += pass.sends;
    }
    RC_ASSERT(parts->step(work) == computes + sends);
    // Each stage is rounded once.
    const std::int64_t off = (computes - whole->step(work)).count();
    RC_ASSERT(off <= stages && off >= -stages);
    RC_ASSERT(passes.back().sends == SimTime(0));
    RC_ASSERT(sends >= SimTime(stages - 1));
  }));
}

TEST_CASE("stages of unlike layers together compute what one group of GPUs does") {
  // Windows and full attention by turns; dense layers before those with experts; recurrent layers among the others.
  for (const char* name : {"gpt-oss-20b", "deepseek-v2-lite", "jamba-v0.1-52b"}) {
    const model::ModelSpec spec = catalogued(name);
    CHECK(rc::check(name, [&] {
      const std::int64_t stages = *rc::gen::inRange<std::int64_t>(2, spec.num_hidden_layers + 1);
      const auto whole = in_stages(1, 1, {}, spec);
      const auto parts = in_stages(stages, 1, {}, spec);
      const StepWork work = random_work(*whole);
      std::vector<StagePass> passes(static_cast<std::size_t>(stages));
      parts->stage_passes(work, passes);
      SimTime computes;
      for (const StagePass& pass : passes) computes += pass.computes;
      const std::int64_t off = (computes - whole->step(work)).count();
      RC_ASSERT(off <= stages && off >= -stages);
    }));
  }
}

TEST_CASE("what a stage sends on: two tensors of 2 bytes a hidden element, over its ranks' links") {
  StepWork work;
  work.decode_sequences = work.sampled_sequences = 100;
  work.decode_kv_tokens = 100'000;
  std::vector<StagePass> passes(2);
  in_stages(2, 1, model::LinkSpec{.bytes_per_s = 1e9, .latency_s = 5e-6})->stage_passes(work, passes);
  // 100 x 4096 x 4 bytes at 1 GB/s, and 5 us.
  CHECK(passes[0].sends == SimTime(1'638'400 + 5'000));
  // Of two ranks each sends half; what they then gather goes over their own link, which is faster.
  in_stages(2, 2, model::LinkSpec{.bytes_per_s = 1e9, .latency_s = 5e-6})->stage_passes(work, passes);
  CHECK(passes[0].sends > SimTime(1'638'400 / 2));
  CHECK(passes[0].sends < SimTime(1'638'400));
}

TEST_CASE("the host's time goes with the first stage") {
  StepWork work;
  work.decode_sequences = work.sampled_sequences = 10;
  work.decode_kv_tokens = 1000;
  std::vector<StagePass> without(4);
  std::vector<StagePass> with(4);
  in_stages(4)->stage_passes(work, without);
  const auto host = with_host_time(in_stages(4), SimTime(1'000'000));
  host->stage_passes(work, with);
  CHECK(host->stages() == 4);
  CHECK(with[0].computes - without[0].computes == SimTime(1'000'000));
  CHECK(with[1].computes == without[1].computes);
  CHECK(host->step(work) == in_stages(4)->step(work) + SimTime(1'000'000));
}
