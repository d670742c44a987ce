// The roofline. F = peak FLOP/s, B = peak byte/s, M = new tokens of the step, per GPU of a tensor-parallel group:
//   GEMM        ((2 M N K / (ec F))^p + ((w N K + 2 M K + 2 M N) / (em B))^p)^(1/p) + t0; w = bytes a weight, p =
//   infinity: max layer       qkv, o, gate+up, down; elementwise; attention; 2 all-reduces if tp > 1 experts router,
//   and gate+up, down over M x experts_per_token rows; weights read: those of the E (1 - (1 - k/E)^M)
//               distinct experts that uniform routing is expected to touch
//   head        one GEMM over the sampled rows
//   attention, as_gemm:  max(FLOPs / (ec F), bytes / (em B)) + t0 for the decodes, likewise for the chunks
//   attention, own:      decode KV bytes / (ea_d B) + ta; chunks FLOPs / (ea_p F) [+ bytes / (eb_p B)] + ta
//   FlashAttention-2: a chunk leaves SMs idle (add_chunk); beside a chunk, decodes read KV once per query head:
//               bandwidth min(mix / (query heads a KV head), the efficiency without a chunk)
// Left out: sampler, host time, all-gather of the logits, pipeline parallelism.
// Cost: a table look-up for M, one for the sampled rows, closed forms for attention. Sizes beyond the tables are
// computed directly. Sources: constants and forms fitted on kernel measurements of Vidur, AIConfigurator and
// LLMServingSim.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/cost/calibration.h"
#include "sim/cost/cost_model.h"
#include "sim/model/gpu_spec.h"
#include "sim/model/model_spec.h"

namespace blockyard::cost {

struct RooflineOptions {
  std::int64_t tensor_parallel_size = 1;
  model::ElementType kv_dtype = model::ElementType::bf16;
  std::int64_t table_tokens = 16384;  // entries of the tables; max_num_batched_tokens is a good choice
};

// The model has passed check() and check_tensor_parallel().
[[nodiscard]] std::unique_ptr<CostModel> make_roofline(const model::ModelSpec& spec, const model::GpuSpec& gpu,
                                                       const Calibration& calibration, const RooflineOptions& options);

}  // namespace blockyard::cost
