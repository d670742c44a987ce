#include "sim/cost/calibration.h"

#include <algorithm>

namespace blockyard::cost {

namespace {

// Joined as the entry says.
bool as_measured(const model::GpuSpec& gpu, GpuLinks links) {
  return links == GpuLinks::own || (links == GpuLinks::pcie && gpu.gpu_link_bytes_per_s == 0);
}

AllReduceChoice in_a_graph(const Calibration& calibration, const model::GpuSpec& gpu, std::int64_t n, GpuLinks links) {
  const bool nvlink = gpu.gpu_link_bytes_per_s > 0 && links != GpuLinks::pcie;
  if (links == GpuLinks::nvlink_pairs && nvlink) {
    const double pair = 0.44 * gpu.gpu_link_bytes_per_s;
    if (n <= 2) return {{17.6e-6, pair}, false};
    return {{32.2e-6, std::min(pair, 47.5e9)}, false};
  }
  if (const auto found = calibration.all_reduce.find(n);
      as_measured(gpu, links) && found != calibration.all_reduce.end())
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
  if (eager && as_measured(gpu, links)) {
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
