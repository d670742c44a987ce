// What kernels reach of a GPU's peaks: the constants of the roofline, with their source and error. The defaults are
// generic constants for a GPU without data. Constants fitted together go together: with AttentionForm::as_gemm the
// constants of AttentionForm::own are not used and must not be borrowed from another fit (decode error 9.7 % instead of
// 4.2 % on the A100). The formulas: roofline.h.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "sim/base/quantities.h"
#include "sim/model/gpu_spec.h"

namespace blockyard::cost {

inline constexpr double kMaxForm = std::numeric_limits<double>::infinity();

enum class AttentionForm {
  as_gemm,  // attention obeys the GEMMs' constants: fits of whole layers
  own       // attention has constants of its own
};

enum class ElementwiseForm {
  separate,  // six kernels a layer with the GEMMs' constants, as a framework runs them one by one
  fused      // four kernels that a compiler has put together
};

// One all-reduce of b bytes over n GPUs: latency_s + 2 (n - 1) / n x b / bus_bandwidth_bytes_per_s. Up to
// one_shot_bytes every GPU reads all of every other's instead: one_shot_latency_s + (n - 1) x b / one_shot_bytes_per_s;
// beyond, no less than at that size.
struct AllReduce {
  Seconds latency_s = 0;
  double bus_bandwidth_bytes_per_s = 0;
  double one_shot_bytes = 0;  // 0 = never
  Seconds one_shot_latency_s = 0;
  double one_shot_bytes_per_s = 0;

  bool operator==(const AllReduce&) const = default;
};

// GEMMs in another number format: fp8 weights and activations.
struct GemmEfficiency {
  double compute_efficiency = 0;
  double memory_efficiency = 0;
  Seconds kernel_overhead_s = 0;

  bool operator==(const GemmEfficiency&) const = default;
};

struct Calibration {
  // GEMMs.
  double compute_efficiency = 0.75;    // ec: share of peak FLOP/s
  double memory_efficiency = 0.85;     // em: share of peak bandwidth
  Seconds kernel_overhead_s = 3.5e-6;  // t0
  double soft_max_exponent = 2.0;      // p >= 1; kMaxForm (infinity) = the larger of compute and memory time
  bool tile_rounding = false;  // rows rounded up to tiles: 64 up to 64, multiples of 128 above; of matrices in 8 bits
                               // and less multiples of 64, of experts 63 more each
  std::optional<GemmEfficiency> fp8;  // of fp8 weights, shares of the fp8 peak; none = as the other GEMMs

  // Attention.
  AttentionForm attention_form = AttentionForm::own;
  double decode_memory_efficiency = 0.82;   // ea_d, own: share of peak bandwidth
  Seconds decode_overhead_s = 12e-6;        // ta, own
  double prefill_compute_efficiency = 0.6;  // ea_p, own: share of peak FLOP/s
  double prefill_memory_efficiency = 0;     // eb_p, own: share of peak bandwidth; 0 = no such term
  Seconds prefill_overhead_s = 12e-6;       // ta, own
  bool prefill_occupancy =
      true;  // both forms: SMs that FlashAttention-2 leaves idle count; false if the fit has no such term
  double mixed_decode_factor = 1.7;  // mix, both forms: beside a chunk FlashAttention-2 decodes at mix / group of the
                                     // peak bandwidth; 0 = as without a chunk
  double stream_bytes_per_s = 0;  // FlashAttention-2, own: what one SM reads of the KV of one head; 0 = no such limit

  ElementwiseForm elementwise_form = ElementwiseForm::fused;
  Seconds elementwise_overhead_s = 2.3e-6;  // te, fused: of one kernel

  Seconds sampler_overhead_s = 25e-6;  // of one sampled token; more add the bytes of their logits (layer_time.h)

  std::map<std::int64_t, AllReduce> all_reduce;        // in a CUDA graph, by number of GPUs; see all_reduce_for
  std::map<std::int64_t, AllReduce> all_reduce_eager;  // launched one by one

  Seconds empty_step_s = 250e-6;  // the engine's own time for a step without work

  bool generic = true;  // no data of this GPU
  std::string source = "generic constants";
  std::string error = "expect 10-20 % on step time";

  bool operator==(const Calibration&) const = default;
};

// How the GPUs of a server are joined. own: as the GPU's entry says, NVSwitch where it has NVLink, else PCIe.
enum class GpuLinks { own, nvlink_pairs, pcie };

// The entry for n GPUs; without one (`measured` is false) what like links reach: over NVLink 5 us and 0.6 of it, as on
// A100; over PCIe 5.3 / 12.7 / 23.3 us and 0.6 / 0.12 / 0.06 of it for 2 / 4 / 8 GPUs, as on L40S; over pairs joined by
// NVLink bridges 0.44 of it for 2, and PCIe between pairs: 47 GB/s at most for 4 and more (Vidur's servers of A100 and
// H100 pairs: 41.6 and 17.6 us for 2, 58.7 and 32.2 us for 4; the smaller are taken). `eager`: launched one by one,
// 20 us more where no entry says it, as on H100.
struct AllReduceChoice {
  AllReduce constants;
  bool measured = false;
};
[[nodiscard]] AllReduceChoice all_reduce_for(const Calibration& calibration, const model::GpuSpec& gpu, std::int64_t n,
                                             GpuLinks links = GpuLinks::own, bool eager = false);

}  // namespace blockyard::cost
