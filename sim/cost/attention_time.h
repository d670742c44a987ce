// Attention of a step, all layers, on one GPU: closed forms over the sums of the batch. O(1), without powers but for
// AttentionForm::as_gemm with a finite exponent.
#pragma once

#include <cstdint>

#include "sim/cost/cost_model.h"
#include "sim/cost/kernels.h"
#include "sim/model/model_spec.h"

namespace blockyard::cost {

// FlashAttention-2 spreads the KV of one sequence over several SMs only where it can put the query heads of a KV head
// together (more than one of them, and no chunk in the batch). Elsewhere one SM reads all of it: a decode then lasts at
// least the longest context x bytes of a head / stream rate.
class AttentionTime {
 public:
  AttentionTime(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration,
                std::int64_t tp, model::ElementType kv_dtype, double decode_slowdown = 0);

  [[nodiscard]] Seconds seconds(const StepWork& work) const;

  // Query-key pairs of a chunk of `fresh` tokens over a `context`, n c + n^2 / 2, with the part of the GPU that idles
  // counted as work. FlashAttention-2 computes tiles of 64 query rows, each for the g query heads of one KV head: U =
  // kv heads x ceil(n g / 64) tiles, in waves of one tile an SM. The idle places of the last wave are charged the
  // context and half the rows of at most one wave: so a long lone prefill loses a wave at most, and splitting it gains
  // nothing. A chunk is looked at alone: several in one step share waves, which is left out.
  [[nodiscard]] double pairs(double fresh, double context) const;

 private:
  [[nodiscard]] Seconds decode(const StepWork& work) const;   // of one layer
  [[nodiscard]] Seconds prefill(const StepWork& work) const;  // of one layer

  GemmRoofline roofline_;
  AttentionForm form_;
  bool occupancy_;
  double layers_;
  double sm_count_;
  double query_heads_;  // per GPU, as the next
  double kv_heads_;
  double flops_per_pair_;
  double kv_bytes_per_token_;
  double query_bytes_per_token_;  // q read and output written
  bool whole_streams_;            // decodes without a chunk are not split over SMs
  double stream_s_per_token_;     // one SM reading the KV of one head; 0 = no such limit
  double mixed_decode_bytes_;     // how many times a decode beside a chunk reads the KV of one without
  double decode_s_per_byte_;      // own form, as the next
  double prefill_s_per_flop_;
  double prefill_s_per_byte_;
  double decode_slowdown_;
  Seconds decode_overhead_s_;
  Seconds prefill_overhead_s_;
};

}  // namespace blockyard::cost
