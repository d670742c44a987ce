#include "sim/model/gpu_spec.h"

#include <fmt/format.h>

#include <cmath>

namespace blockyard::model {

void check(const GpuSpec& gpu, const Place& place, Diagnostics& diagnostics) {
  const auto positive = [&](const char* field, double value) {
    if (!(value > 0) || !std::isfinite(value)) {
      diagnostics.add(place, fmt::format("{} is {}, expected a positive number", field, value));
    }
  };
  const auto not_negative = [&](const char* field, double value) {
    if (!(value >= 0) || !std::isfinite(value)) {
      diagnostics.add(place, fmt::format("{} is {}, expected zero (none) or a positive number", field, value));
    }
  };
  positive("memory_bytes", static_cast<double>(gpu.memory_bytes.count()));
  positive("memory_bandwidth_bytes_per_s", gpu.memory_bandwidth_bytes_per_s);
  positive("bf16_flops_per_s", gpu.bf16_flops_per_s);
  not_negative("fp8_flops_per_s", gpu.fp8_flops_per_s);
  positive("sm_count", static_cast<double>(gpu.sm_count));
  positive("shared_memory_per_sm", static_cast<double>(gpu.shared_memory_per_sm.count()));
  not_negative("gpu_link_bytes_per_s", gpu.gpu_link_bytes_per_s);
  positive("pcie_bytes_per_s", gpu.pcie_bytes_per_s);
}

}  // namespace blockyard::model
