// Time of one kernel on one GPU, from its FLOPs and bytes. Pure functions of their arguments; O(1).
#pragma once

#include <cstdint>

#include "sim/cost/calibration.h"
#include "sim/model/gpu_spec.h"
#include "sim/model/model_spec.h"

namespace blockyard::cost {

inline constexpr double kActivationBytes = 2;  // of an element: 16 bits, whatever the weights are in

// How the GEMMs of a checkpoint run on a GPU.
//   plain      16-bit weights
//   fp8        on the fp8 tensor cores, where the GPU has them: weights and activations in fp8
//   int8       on the int8 tensor cores, of twice the 16-bit rate: weights and activations in int8
//   converted  weights of 8 bits and less alone, or formats that the GPU lacks: converted to 16 bits on the way, at 0.9
//              of the compute rate (what MARLIN reaches of 16-bit GEMMs at large M, Frantar et al., 2024; not measured
//              here)
enum class GemmFormat { plain, fp8, int8, converted };
[[nodiscard]] GemmFormat gemm_format(const model::GpuSpec& gpu, const model::ModelSpec& spec);

// The GPU as GEMMs see it: ec F, em B, p, t0.
class GemmRoofline {
 public:
  GemmRoofline(const model::GpuSpec& gpu, const Calibration& calibration);
  // As GEMMs with a checkpoint's weights see it (gemm_format).
  [[nodiscard]] static GemmRoofline for_weights(const model::GpuSpec& gpu, const Calibration& calibration,
                                                const model::ModelSpec& spec);

  // `groups` matrices of n x k elements with weight_bytes each, `rows` rows in all, spread evenly over the groups: one
  // group is a plain GEMM, several are the experts of a layer. 2-byte activations.
  [[nodiscard]] Seconds gemm(double groups, double rows, double n, double k, double weight_bytes) const;
  // A kernel without tiles: compute and memory time combined, plus the overhead.
  [[nodiscard]] Seconds kernel(double flops, double bytes) const;

 private:
  [[nodiscard]] Seconds combine(Seconds compute, Seconds memory) const;

  double s_per_flop_;
  double s_per_byte_;
  double exponent_;
  Seconds overhead_s_;
  bool tile_rounding_;
};

// Expected number of distinct experts that `tokens` tokens touch, each drawing k of E different ones uniformly.
[[nodiscard]] double distinct_experts(double tokens, std::int64_t experts_per_token, std::int64_t experts);

[[nodiscard]] Seconds all_reduce_seconds(const AllReduce& constants, std::int64_t gpus, double bytes);

}  // namespace blockyard::cost
