#include "sim/cost/kernels.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace blockyard::cost {
namespace {

constexpr double kTile = 64;

// With tile rounding: as measured of 16-bit matrices. Others read fewer bytes for each weight, and experts have few
// rows each: there tiles of 128 rows would cost more than a matrix read twice, and two small steps less than one.
double in_tiles(double groups, double rows, double weight_bytes) {
  if (groups > 1) return rows + (kTile - 1) * groups;
  if (weight_bytes < 2 || rows <= kTile) return std::ceil(rows / kTile) * kTile;
  return std::ceil(rows / (2 * kTile)) * 2 * kTile;
}

}  // namespace

GemmFormat gemm_format(const model::GpuSpec& gpu, const model::ModelSpec& spec) {
  using model::ElementType;
  if (!spec.quantization && model::bytes_per_element(spec.dtype) >= 2) return GemmFormat::plain;
  std::optional<ElementType> activations;
  if (spec.quantization) {
    activations = spec.quantization->activations;
  } else if (spec.dtype == ElementType::fp8) {
    activations = spec.dtype;
  }
  if (activations == ElementType::fp8 && gpu.fp8_flops_per_s > 0) return GemmFormat::fp8;
  if (activations == ElementType::int8) return GemmFormat::int8;
  return GemmFormat::converted;
}

GemmRoofline::GemmRoofline(const model::GpuSpec& gpu, const Calibration& calibration)
    : s_per_flop_(1 / (calibration.compute_efficiency * gpu.bf16_flops_per_s)),
      s_per_byte_(1 / (calibration.memory_efficiency * gpu.memory_bandwidth_bytes_per_s)),
      exponent_(calibration.soft_max_exponent),
      overhead_s_(calibration.kernel_overhead_s),
      tile_rounding_(calibration.tile_rounding) {}

GemmRoofline GemmRoofline::for_weights(const model::GpuSpec& gpu, const Calibration& calibration,
                                       const model::ModelSpec& spec) {
  constexpr double kConverted = 0.9;
  model::GpuSpec seen = gpu;
  Calibration constants = calibration;
  switch (gemm_format(gpu, spec)) {
    case GemmFormat::plain:
      break;
    case GemmFormat::fp8:
      seen.bf16_flops_per_s = gpu.fp8_flops_per_s;
      if (!calibration.fp8) break;
      constants.compute_efficiency = calibration.fp8->compute_efficiency;
      constants.memory_efficiency = calibration.fp8->memory_efficiency;
      constants.kernel_overhead_s = calibration.fp8->kernel_overhead_s;
      constants.soft_max_exponent = kMaxForm;
      break;
    case GemmFormat::int8:
      seen.bf16_flops_per_s *= 2;
      break;
    case GemmFormat::converted:
      constants.compute_efficiency *= kConverted;
      break;
  }
  return {seen, constants};
}

Seconds GemmRoofline::gemm(double groups, double rows, double n, double k, double weight_bytes) const {
  const double computed_rows = tile_rounding_ ? in_tiles(groups, rows, weight_bytes) : rows;
  return kernel(2 * computed_rows * n * k, groups * weight_bytes * n * k + 2 * rows * (n + k));
}

Seconds GemmRoofline::kernel(double flops, double bytes) const {
  return combine(flops * s_per_flop_, bytes * s_per_byte_) + overhead_s_;
}

Seconds GemmRoofline::combine(Seconds compute, Seconds memory) const {
  const Seconds larger = std::max(compute, memory);
  if (std::isinf(exponent_) || larger == 0) return larger;
  const double ratio =
      std::min(compute, memory) / larger;  // the larger one is taken out so that no power under- or overflows
  return larger * std::pow(1 + std::pow(ratio, exponent_), 1 / exponent_);
}

double distinct_experts(double tokens, std::int64_t experts_per_token, std::int64_t experts) {
  const double all = static_cast<double>(experts);
  return all * (1 - std::pow(1 - static_cast<double>(experts_per_token) / all, tokens));
}

Seconds all_reduce_seconds(const AllReduce& constants, std::int64_t gpus, double bytes) {
  const double n = static_cast<double>(gpus);
  const auto one_shot = [&](double b) {
    return constants.one_shot_latency_s + (n - 1) * b / constants.one_shot_bytes_per_s;
  };
  if (bytes <= constants.one_shot_bytes) return one_shot(bytes);
  const Seconds seconds = constants.latency_s + 2 * (n - 1) / n * bytes / constants.bus_bandwidth_bytes_per_s;
  return constants.one_shot_bytes > 0 ? std::max(seconds, one_shot(constants.one_shot_bytes)) : seconds;
}

}  // namespace blockyard::cost
