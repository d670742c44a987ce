// CPU nanoseconds of one evaluation of the roofline with warm tables: batches that change from step to step, decodes
// alone and with a chunk, on a GPU with attention constants of its own. Prints one line a case.
#include <fmt/format.h>

#include <ctime>

#include "sim/cost/roofline.h"
#include "tests/cost/calibrated_gpus.h"
#include "tests/model/published_models.h"

using namespace blockyard;
using namespace blockyard::cost;

namespace {

constexpr std::int64_t kSteps = 20'000'000;

double nanoseconds_a_step(CostModel& cost, bool with_chunk) {
  StepWork work;
  std::int64_t sum = 0;
  const auto run = [&](std::int64_t steps) {
    for (std::int64_t i = 0; i < steps; ++i) {
      work = {};
      work.decode_sequences = 1 + i % 255;
      work.decode_kv_tokens = work.decode_sequences * (100 + i % 4000);
      work.decode_longest = 4100;
      work.sampled_sequences = work.decode_sequences;
      if (with_chunk) cost.add_chunk(work, Tokens(1 + i % 1500), Tokens(i % 3000));
      sum += cost.step(work).count();
    }
  };
  run(2'000'000);  // fills the tables
  const std::clock_t start = std::clock();
  run(kSteps);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  return sum == 0 ? 0 : 1e9 * seconds / static_cast<double>(kSteps);
}

}  // namespace

int main() {
  for (const CalibratedGpu& g : {a100(), h100(), rtx_4090()}) {
    const auto cost = make_roofline(model::llama_3_8b(), g.gpu, g.calibration, {});
    fmt::print("{:10} decodes {:5.1f} ns a step, beside a chunk {:5.1f} ns\n", g.gpu.name,
               nanoseconds_a_step(*cost, false), nanoseconds_a_step(*cost, true));
  }
}
