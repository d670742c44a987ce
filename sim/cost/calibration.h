// What kernels reach of a GPU's peaks: the constants of the roofline, with their source and error. The defaults are
// generic constants for a GPU without data. Constants fitted together go together: with AttentionForm::as_gemm the
// attention constants are not used, and must not be borrowed from another fit (decode error 9.7 % instead of 4.2 % on
// the A100). Meaning of each: roofline.h.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "sim/base/quantities.h"
#include "sim/model/gpu_spec.h"

namespace blockyard::cost {

inline constexpr double kMaxForm = std::numeric_limits<double>::infinity();

enum class AttentionForm {
  as_gemm,  // attention and the unfused elementwise kernels obey the GEMMs' constants: fits of whole layers
  own       // attention has constants of its own; elementwise kernels are fused by a compiler
};

// One all-reduce of b bytes over n GPUs: latency_s + 2 (n - 1) / n x b / bus_bandwidth_bytes_per_s.
struct AllReduce {
  Seconds latency_s = 0;
  double bus_bandwidth_bytes_per_s = 0;
};

struct Calibration {
  // GEMMs.
  double compute_efficiency = 0.75;    // ec: share of peak FLOP/s
  double memory_efficiency = 0.85;     // em: share of peak bandwidth
  Seconds kernel_overhead_s = 3.5e-6;  // t0
  double soft_max_exponent = 2.0;      // p; kMaxForm (infinity) = the larger of compute and memory time
  bool tile_rounding = false;          // rows rounded up to a tile: 64 up to 64, multiples of 128 above

  // Attention and elementwise kernels; used by AttentionForm::own only, but for mixed_decode_factor.
  AttentionForm attention_form = AttentionForm::own;
  double decode_memory_efficiency = 0.82;   // ea_d: share of peak bandwidth
  Seconds decode_overhead_s = 12e-6;        // ta
  double prefill_compute_efficiency = 0.6;  // ea_p: share of peak FLOP/s
  double prefill_memory_efficiency = 0;     // eb_p: share of peak bandwidth; 0 = no such term
  Seconds prefill_overhead_s = 12e-6;       // ta
  Seconds elementwise_overhead_s = 2.3e-6;  // te, one of four fused kernels
  bool prefill_occupancy = true;     // fitted with the share of SMs that FlashAttention-2 leaves idle counted apart
  double mixed_decode_factor = 1.7;  // mix: beside a chunk FlashAttention-2 decodes at mix / group of the bandwidth;
                                     // 0 = as without a chunk

  std::map<std::int64_t, AllReduce> all_reduce;  // by number of GPUs; see all_reduce_for

  Seconds empty_step_s = 250e-6;  // the engine's own time for a step without work

  bool generic = true;  // no data of this GPU
  std::string source = "generic constants";
  std::string error = "expect 10-20 % on step time";
};

// The entry for n GPUs, or what links of the GPU's kind reach (`measured` false): 0.6 of NVLink per direction; over
// PCIe what was measured on L40S.
struct AllReduceChoice {
  AllReduce constants;
  bool measured = false;
};
[[nodiscard]] AllReduceChoice all_reduce_for(const Calibration& calibration, const model::GpuSpec& gpu, std::int64_t n);

}  // namespace blockyard::cost
