// Our times of attention beside measured ones. The bounds are those of the fit, which was made on the same rows.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/cost/attention_time.h"
#include "tests/cost/calibrated_gpus.h"
#include "tests/cost/kernel_tables.h"
#include "tests/model/published_models.h"

using namespace blockyard;
using namespace blockyard::cost;

TEST_CASE("prefill attention with its own constants") {
  struct Measured {
    CalibratedGpu g;
    const char* table;
    double efficiency, memory_efficiency;
    Seconds overhead_s;
  };
  for (const Measured& m : {Measured{a100(), "attn_prefill_a100_aic_vllm0.14.0_32q.csv", 0.583, 0.433, 12e-6},
                            Measured{h100(), "attn_prefill_h100_aic_vllm0.19.0_32q.csv", 0.771, 0.853, 10.4e-6}}) {
    Calibration c = m.g.calibration;
    c.attention_form = AttentionForm::own;
    c.prefill_compute_efficiency = m.efficiency;
    c.prefill_memory_efficiency = m.memory_efficiency;
    c.prefill_overhead_s = m.overhead_s;
    c.prefill_occupancy = false;
    Errors errors;
    for (const Row& row : read_table(m.table)) {
      const model::ModelSpec layer = model::decoder(
          {"layer", 1, 4096, 4096, integer(row, "num_heads"), integer(row, "num_key_value_heads"), 128, 32000, 16384});
      const AttentionTime attention(layer, m.g.gpu, c, 1, model::ElementType::bf16);
      const std::int64_t sequences = integer(row, "batch_size");
      const std::int64_t length = integer(row, "isl");
      StepWork work;
      work.prefill_sequences = sequences;
      work.prefill_tokens = work.prefill_kv_tokens = sequences * length;
      work.prefill_pairs = static_cast<double>(sequences) * attention.pairs(length, 0);
      errors.add(attention.seconds(work) * 1e6, std::stod(row.at("t_us")));
    }
    if (errors.rows == 0) continue;
    fmt::print("{} prefill attention: WAPE {:.1f} %, {} rows\n", m.g.gpu.name, errors.wape(), errors.rows);
    CHECK(errors.wape() < 3);
  }
}
