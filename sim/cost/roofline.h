// The roofline. Per GPU of a tensor-parallel group: F = peak FLOP/s, B = peak byte/s, M = new tokens of the step.
// A GEMM is (M x K) x (K x N) with w bytes a weight; ec, em, ... are the constants of Calibration.
//
//   GEMM         ((2 M N K / (ec F))^p + ((w N K + 2 M K + 2 M N) / (em B))^p)^(1/p) + t0, the larger if p is infinite
//   layer        qkv, o, gate+up, down; elementwise; attention; 2 all-reduces of 2 M hidden bytes if tp > 1. A step of
//                at most `largest_graph` tokens runs in a CUDA graph: M is its padded size there (cuda_graphs.h).
//                Layers that differ (dense and sparse, latent, recurrent) are summed class by class (layer_time.h)
//   weights      fp8, int8: tensor cores of that format; other formats of 8 bits and less: fewer bytes, converted
//   experts      router; gate+up and down over M k rows; weights read: those of the E (1 - (1 - k/E)^M) distinct
//                experts that uniform routing is expected to touch, M without a graph's padding there, whose rows are
//                computed and choose none of their own; expert parallelism: layer_time.h
//   head         one GEMM over the sampled rows, logits gathered over the ranks; sampler: 25 us, and the logits of all
//                rows read twice in 4 bytes
//   elementwise  fused: 2 (8 M hidden + 2 M (q + kv) + 3 M ff) / (1.7 B) + 4 te
//                separate: six kernels of bytes / (em B) + t0
//   attention    decodes read their KV; chunks: 4 heads head_dim pairs FLOPs, bytes of q, k, v and output
//                own: decodes bytes / (ea_d B) + ta, chunks FLOPs / (ea_p F) + bytes / (eb_p B) + ta
//                as_gemm: decodes and chunks a GEMM's form each
//                FlashAttention-2: a chunk leaves SMs idle; beside a chunk, a decode reads its KV once per query head:
//                min(mix / (query heads a KV head), the share without a chunk) of B; a sequence may be one SM's alone
//                (attention_time.h). Windows, latents, recurrent state: there too
//
//   replicas     that share experts (Parallelism::data) step together: the slowest of what each does by itself
//                + experts over the tokens of all; with CUDA graphs all are padded to the largest, one that has
//                nothing to do computes a token (vLLM: coordinate_batch_across_dp, execute_dummy_batch). Each layer's
//                tokens are gathered on all GPUs and their sums scattered: 2 latencies + the bytes of an all-reduce
//                (layer_time.h)
//
//   pipeline     each stage these terms over its layers, the last one head and sampler; between two stages
//                latency + bytes / (tp bandwidth) for hidden states and residual (2 x 2 bytes x hidden a token), which
//                a stage's ranks then gather, as half an all-reduce does (stage_time.h)
//
// Left out: token permutation of experts, uneven routing, attention that reads only the tokens an indexer chose. What
// of a model is timed by rule and not by measurement: assumptions.h; the report says it. Cost: look-ups for M and for
// the sampled rows, closed forms for attention; direct beyond the tables. Source: forms and constants fitted to kernel
// times of Vidur, AIConfigurator and LLMServingSim (public profiles).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/cost/calibration.h"
#include "sim/cost/cost_model.h"
#include "sim/cost/engine_time.h"
#include "sim/cost/layer_time.h"
#include "sim/model/gpu_spec.h"
#include "sim/model/link.h"
#include "sim/model/model_spec.h"

namespace blockyard::cost {

struct RooflineOptions {
  Parallelism parallelism;
  std::int64_t stages = 1;  // of the pipeline: at most the model's layers
  // From each GPU of a stage to its like in the next one; absent: as two GPUs of one server talk.
  std::optional<model::LinkSpec> stage_link;
  std::int64_t largest_graph = 512;  // tokens of the largest CUDA graph; 0 = none, as with --enforce-eager
  EngineTime engine;
  model::ElementType kv_dtype = model::ElementType::bf16;
  // Attention of decodes takes 1 + this times as long. The PagedAttention paper measured 0.20-0.26 for its first kernel
  // against FasterTransformer's on contiguous KV (sec. 7.1). 0, since the constants were fitted to kernels that read
  // paged KV themselves.
  double attention_slowdown = 0;
  std::int64_t table_tokens = 16384;  // entries of the tables; max_num_batched_tokens is a good choice
};

// The model has passed check() and check_tensor_parallel().
[[nodiscard]] std::unique_ptr<CostModel> make_roofline(const model::ModelSpec& spec, const model::GpuSpec& gpu,
                                                       const Calibration& calibration, const RooflineOptions& options);

}  // namespace blockyard::cost
