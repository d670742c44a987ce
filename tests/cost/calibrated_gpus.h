// GPUs with the constants fitted to their measured kernels, as configs/gpus has them
// (tests/serving/measured_layers_test.cc), and one without data.
#pragma once

#include <vector>

#include "sim/cost/calibration.h"
#include "sim/model/gpu_spec.h"

namespace blockyard::cost {

struct CalibratedGpu {
  model::GpuSpec gpu;
  Calibration calibration;
};

inline CalibratedGpu peaks(const char* name, double flops, double bandwidth, std::int64_t sms,
                           model::AttentionKernel kernel, double link) {
  CalibratedGpu g;
  g.gpu.name = name;
  g.gpu.memory_bytes = Bytes(80'000'000'000);
  g.gpu.bf16_flops_per_s = flops;
  g.gpu.memory_bandwidth_bytes_per_s = bandwidth;
  g.gpu.sm_count = sms;
  g.gpu.shared_memory_per_sm = Bytes(102'400);
  g.gpu.attention_kernel = kernel;
  g.gpu.gpu_link_bytes_per_s = link;
  g.gpu.pcie_bytes_per_s = 32e9;
  g.calibration.generic = false;
  return g;
}

inline CalibratedGpu a100() {
  CalibratedGpu g = peaks("a100", 312e12, 2039e9, 108, model::AttentionKernel::flash_attention_2, 300e9);
  g.gpu.shared_memory_per_sm = Bytes(167'936);
  g.calibration.compute_efficiency = 0.706;
  g.calibration.memory_efficiency = 0.838;
  g.calibration.kernel_overhead_s = 3.94e-6;
  g.calibration.soft_max_exponent = 1.63;
  g.calibration.elementwise_form = ElementwiseForm::separate;
  g.calibration.decode_memory_efficiency = 0.71;
  g.calibration.decode_overhead_s = 19.2e-6;
  g.calibration.prefill_compute_efficiency = 0.583;
  g.calibration.prefill_memory_efficiency = 0.433;
  g.calibration.prefill_overhead_s = 12e-6;
  g.calibration.stream_bytes_per_s = 23e9;
  g.calibration.all_reduce = {
      {2, {5.0e-6, 180e9}}, {4, {7.6e-6, 160e9, 524288, 5.3e-6, 167e9}}, {8, {10.7e-6, 168e9, 262144, 5.9e-6, 168e9}}};
  g.calibration.all_reduce_eager = {{2, {42.8e-6, 161e9}}, {4, {44.5e-6, 181e9}}, {8, {43.8e-6, 187e9}}};
  return g;
}

inline CalibratedGpu h100() {
  CalibratedGpu g = peaks("h100", 989e12, 3350e9, 132, model::AttentionKernel::flash_attention_3, 450e9);
  g.calibration.compute_efficiency = 0.573;
  g.calibration.memory_efficiency = 0.880;
  g.calibration.kernel_overhead_s = 3.99e-6;
  g.calibration.soft_max_exponent = kMaxForm;
  g.calibration.attention_form = AttentionForm::as_gemm;
  g.calibration.elementwise_form = ElementwiseForm::separate;
  g.calibration.all_reduce = {
      {2, {4.3e-6, 274e9}}, {4, {7.3e-6, 284e9, 524288, 4.5e-6, 264e9}}, {8, {9.3e-6, 352e9, 262144, 4.6e-6, 292e9}}};
  g.calibration.all_reduce_eager = {{2, {20.4e-6, 255e9}}, {4, {23.1e-6, 301e9}}, {8, {24.4e-6, 367e9}}};
  g.calibration.prefill_occupancy = false;
  g.calibration.mixed_decode_factor = 0;
  g.gpu.shared_memory_per_sm = Bytes(233'472);
  g.gpu.pcie_bytes_per_s = 64e9;
  g.calibration.fp8 = GemmEfficiency{0.492, 0.877, 6.77e-6};
  g.gpu.fp8_flops_per_s = 1979e12;
  return g;
}

inline CalibratedGpu l40s() {
  CalibratedGpu g = peaks("l40s", 362.05e12, 864e9, 142, model::AttentionKernel::flash_attention_2, 0);
  g.calibration.compute_efficiency = 0.689;
  g.calibration.memory_efficiency = 0.754;
  g.calibration.kernel_overhead_s = 0;
  g.calibration.soft_max_exponent = kMaxForm;
  g.calibration.decode_memory_efficiency = 0.881;
  g.calibration.decode_overhead_s = 10e-6;
  g.calibration.prefill_compute_efficiency = 0.446;
  g.calibration.prefill_memory_efficiency = 1.8;
  g.calibration.prefill_overhead_s = 7.7e-6;
  g.calibration.prefill_occupancy = false;
  g.calibration.stream_bytes_per_s = 41e9;
  g.calibration.all_reduce = {{2, {5.3e-6, 19.1e9}}, {4, {12.7e-6, 3.8e9}}, {8, {23.3e-6, 2.0e9}}};
  g.gpu.fp8_flops_per_s = 733e12;
  return g;
}

inline CalibratedGpu rtx_4090() {
  CalibratedGpu g = peaks("rtx-4090", 165.2e12, 1008e9, 128, model::AttentionKernel::flash_attention_2, 0);
  g.calibration.compute_efficiency = 1.032;
  g.calibration.memory_efficiency = 0.82;
  g.calibration.kernel_overhead_s = 0.05e-6;
  g.calibration.soft_max_exponent = kMaxForm;
  g.calibration.tile_rounding = true;
  g.calibration.decode_memory_efficiency = 0.82;
  g.calibration.decode_overhead_s = 0.05e-6;
  g.calibration.prefill_compute_efficiency = 0.815;
  g.calibration.prefill_overhead_s = 0.05e-6;
  g.calibration.elementwise_overhead_s = 2.2e-6;
  g.calibration.mixed_decode_factor = 1.725;
  g.gpu.fp8_flops_per_s = 330e12;
  g.calibration.stream_bytes_per_s = 41e9;
  return g;
}

inline CalibratedGpu rtx_pro_6000() {
  CalibratedGpu g = peaks("rtx-pro-6000", 467.8e12, 1792e9, 188, model::AttentionKernel::flash_attention_2, 0);
  g.calibration.compute_efficiency = 0.852;
  g.calibration.memory_efficiency = 0.796;
  g.calibration.kernel_overhead_s = 0;
  g.calibration.soft_max_exponent = 1.744;
  g.calibration.decode_memory_efficiency = 0.781;
  g.calibration.decode_overhead_s = 12.3e-6;
  g.calibration.prefill_compute_efficiency = 0.598;
  g.calibration.prefill_overhead_s = 12.3e-6;
  g.calibration.elementwise_overhead_s = 2.6e-6;
  g.calibration.mixed_decode_factor = 1.74;
  g.calibration.all_reduce = {{2, {20e-6, 16e9}}};
  g.gpu.pcie_bytes_per_s = 64e9;
  g.gpu.fp8_flops_per_s = 935.6e12;
  g.calibration.stream_bytes_per_s = 40e9;
  return g;
}

inline CalibratedGpu without_data() {
  CalibratedGpu g = peaks("l4", 121e12, 300e9, 58, model::AttentionKernel::flash_attention_2, 0);
  g.calibration = Calibration{};
  return g;
}

inline std::vector<CalibratedGpu> all_gpus() {
  return {a100(), h100(), l40s(), rtx_4090(), rtx_pro_6000(), without_data()};
}

// All of the peaks and not a nanosecond beside them: times are then FLOPs and bytes alone.
inline CalibratedGpu ideal(double flops, double bandwidth) {
  CalibratedGpu g = peaks("ideal", flops, bandwidth, 100, model::AttentionKernel::flash_attention_3, 0);
  Calibration& c = g.calibration;
  c.compute_efficiency = c.memory_efficiency = 1;
  c.kernel_overhead_s = 0;
  c.soft_max_exponent = kMaxForm;
  c.attention_form = AttentionForm::as_gemm;
  c.elementwise_form = ElementwiseForm::separate;
  c.sampler_overhead_s = 0;
  return g;
}

}  // namespace blockyard::cost
