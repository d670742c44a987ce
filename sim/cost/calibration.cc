#include "sim/cost/calibration.h"

#include <fmt/format.h>

#include <algorithm>
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
  if (c.stream_bytes_per_s != 0) range("stream_bytes_per_s", c.stream_bytes_per_s, 1e9, 1e13);
  range("sampler_overhead_s", c.sampler_overhead_s, 0, 1);
  if (c.fp8) {
    range("fp8.compute_efficiency", c.fp8->compute_efficiency, kLeast, kMost);
    range("fp8.memory_efficiency", c.fp8->memory_efficiency, kLeast, kMost);
    range("fp8.kernel_overhead_s", c.fp8->kernel_overhead_s, 0, 1);
  }
  range("elementwise_overhead_s", c.elementwise_overhead_s, 0, 1);
  range("empty_step_s", c.empty_step_s, 1e-9, 1);
  for (const auto* table : {&c.all_reduce, &c.all_reduce_eager}) {
    for (const auto& [gpus, entry] : *table) {
      if (gpus < 2)
        diagnostics.add(place, fmt::format("all_reduce has an entry for {} GPUs, expected 2 or more", gpus));
      range("all_reduce latency_s", entry.latency_s, 0, 1);
      range("all_reduce bus_bandwidth_bytes_per_s", entry.bus_bandwidth_bytes_per_s, 1e6, 1e15);
    }
  }
}

namespace {

AllReduceChoice in_a_graph(const Calibration& calibration, const model::GpuSpec& gpu, std::int64_t n, GpuLinks links) {
  const bool nvlink = gpu.gpu_link_bytes_per_s > 0 && links != GpuLinks::pcie;
  if (links == GpuLinks::nvlink_pairs && nvlink) {
    const double pair = 0.44 * gpu.gpu_link_bytes_per_s;
    if (n <= 2) return {{17.6e-6, pair}, false};
    return {{32.2e-6, std::min(pair, 47.5e9)}, false};
  }
  const bool own = links == GpuLinks::own || (links == GpuLinks::pcie && gpu.gpu_link_bytes_per_s == 0);
  if (const auto found = calibration.all_reduce.find(n); own && found != calibration.all_reduce.end())
    return {found->second, true};
  if (nvlink) return {{5e-6, 0.6 * gpu.gpu_link_bytes_per_s}, false};
  if (n <= 2) return {{5.3e-6, 0.6 * gpu.pcie_bytes_per_s}, false};
  if (n <= 4) return {{12.7e-6, 0.12 * gpu.pcie_bytes_per_s}, false};
  return {{23.3e-6, 0.06 * gpu.pcie_bytes_per_s}, false};
}

}  // namespace

AllReduceChoice all_reduce_for(const Calibration& calibration, const model::GpuSpec& gpu, std::int64_t n,
                               GpuLinks links, bool eager) {
  constexpr Seconds kLaunch = 20e-6;
  if (eager && links == GpuLinks::own) {
    const auto found = calibration.all_reduce_eager.find(n);
    if (found != calibration.all_reduce_eager.end()) return {found->second, true};
  }
  AllReduceChoice choice = in_a_graph(calibration, gpu, n, links);
  if (eager) {
    choice.constants.latency_s += kLaunch;
    choice.measured = false;
  }
  return choice;
}

}  // namespace blockyard::cost
