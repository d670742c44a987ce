#include "sim/cost/calibration.h"

#include <fmt/format.h>

#include <cmath>

namespace blockyard::cost {

void check(const Calibration& c, const Place& place, Diagnostics& diagnostics) {
  const auto range = [&](const char* field, double value, double low, double high) {
    if (!(value >= low && value <= high)) {
      diagnostics.add(place, fmt::format("{} is {}, expected {} to {}", field, value, low, high));
    }
  };
  // Above 1 where a cache serves what the formula reads from memory, or clocks exceed the published ones.
  constexpr double kLeast = 0.01;
  constexpr double kMost = 2;
  range("compute_efficiency", c.compute_efficiency, kLeast, kMost);
  range("memory_efficiency", c.memory_efficiency, kLeast, kMost);
  range("kernel_overhead_s", c.kernel_overhead_s, 0, 1);
  range("soft_max_exponent", c.soft_max_exponent, 1, kMaxForm);
  range("decode_memory_efficiency", c.decode_memory_efficiency, kLeast, kMost);
  range("decode_overhead_s", c.decode_overhead_s, 0, 1);
  range("prefill_compute_efficiency", c.prefill_compute_efficiency, kLeast, kMost);
  if (c.prefill_memory_efficiency != 0) range("prefill_memory_efficiency", c.prefill_memory_efficiency, kLeast, kMost);
  range("prefill_overhead_s", c.prefill_overhead_s, 0, 1);
  if (c.mixed_decode_factor != 0) range("mixed_decode_factor", c.mixed_decode_factor, kLeast, 1000);
  range("elementwise_overhead_s", c.elementwise_overhead_s, 0, 1);
  range("empty_step_s", c.empty_step_s, 1e-9, 1);
  for (const auto& [gpus, entry] : c.all_reduce) {
    if (gpus < 2) diagnostics.add(place, fmt::format("all_reduce has an entry for {} GPUs, expected 2 or more", gpus));
    range("all_reduce latency_s", entry.latency_s, 0, 1);
    range("all_reduce bus_bandwidth_bytes_per_s", entry.bus_bandwidth_bytes_per_s, 1e6, 1e15);
  }
}

AllReduceChoice all_reduce_for(const Calibration& calibration, const model::GpuSpec& gpu, std::int64_t n) {
  if (const auto found = calibration.all_reduce.find(n); found != calibration.all_reduce.end())
    return {found->second, true};
  if (gpu.gpu_link_bytes_per_s > 0) return {{5e-6, 0.6 * gpu.gpu_link_bytes_per_s}, false};
  if (n <= 2) return {{5.3e-6, 0.6 * gpu.pcie_bytes_per_s}, false};
  if (n <= 4) return {{12.7e-6, 0.12 * gpu.pcie_bytes_per_s}, false};
  return {{23.3e-6, 0.06 * gpu.pcie_bytes_per_s}, false};
}

}  // namespace blockyard::cost
