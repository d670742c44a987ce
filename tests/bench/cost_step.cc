// CPU nanoseconds of one evaluation of the roofline with warm tables: batches that change from step to step, decodes
// alone and with a chunk. GPUs with attention constants of their own and without; experts, layers unlike each other,
// pipelines. Prints one line a case. Usage: cost_step [STEPS]
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/cost/roofline.h"
#include "sim/model/hf_config.h"
#include "tests/cost/calibrated_gpus.h"
#include "tests/model/published_models.h"

using namespace blockyard;
using namespace blockyard::cost;

namespace {

struct Case {
  std::string model;
  CalibratedGpu gpu;
  Parallelism parallelism;
  std::int64_t stages = 1;
};

model::ModelSpec spec_of(const std::string& name) {
  for (const model::ModelSpec& spec : {model::llama_3_8b(), model::llama_3_70b(), model::mixtral_8x7b()}) {
    if (spec.name == name) return spec;
  }
  std::ifstream file(std::string(BLOCKYARD_SOURCE_DIR) + "/configs/models/" + name + ".json");
  return model::model_from_hf_json(std::string(std::istreambuf_iterator<char>(file), {}), name);
}

double nanoseconds_a_step(CostModel& cost, std::int64_t steps, bool with_chunk) {
  StepWork work;
  std::int64_t sum = 0;
  const auto run = [&](std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      work = {};
      work.decode_sequences = 1 + i % 255;
      work.decode_kv_tokens = work.decode_sequences * (100 + i % 4000);
      work.decode_longest = 4100;
      work.sampled_sequences = work.decode_sequences;
      if (with_chunk) cost.add_chunk(work, Tokens(1 + i % 1500), Tokens(i % 3000));
      sum += cost.step(work).count();
    }
  };
  run(steps / 10);  // fills the tables
  const std::clock_t start = std::clock();
  run(steps);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  return sum == 0 ? 0 : 1e9 * seconds / static_cast<double>(steps);
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t steps = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
  for (const Case& c :
       {Case{"llama-3-8b", a100(), {}}, Case{"llama-3-8b", h100(), {}}, Case{"llama-3-8b", rtx_4090(), {}},
        Case{"mixtral-8x7b", h100(), {2}}, Case{"gpt-oss-20b", h100(), {}}, Case{"deepseek-v3", h100(), {8, true}},
        Case{"llama-3-70b", h100(), {2}, 4}, Case{"gpt-oss-20b", h100(), {}, 4}, Case{"llama-3-8b", a100(), {}, 8}}) {
    RooflineOptions options;
    options.parallelism = c.parallelism;
    options.stages = c.stages;
    const auto cost = make_roofline(spec_of(c.model), c.gpu.gpu, c.gpu.calibration, options);
    fmt::print("{:12} on {:10} tensor {} stages {}  decodes {:5.1f} ns a step, beside a chunk {:5.1f} ns\n", c.model,
               c.gpu.gpu.name, c.parallelism.tensor, c.stages, nanoseconds_a_step(*cost, steps, false),
               nanoseconds_a_step(*cost, steps, true));
  }
}
