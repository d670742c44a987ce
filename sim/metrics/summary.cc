#include "sim/metrics/summary.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace blockyard::metrics {

std::vector<std::string> warnings_of(const Summary& summary) {
  std::vector<std::string> warnings;
  if (summary.arrived == 0) warnings.emplace_back("no request arrived: there is nothing to measure");
  if (summary.arrived > 0 && summary.finished == 0) warnings.emplace_back("no request finished: there is no latency");

  const std::array<std::pair<const char*, const Distribution*>, 7> samples{
      {{"admission_s", &summary.admission},
       {"ttft_s", &summary.ttft},
       {"tpot_s", &summary.tpot},
       {"itl_s", &summary.itl},
       {"e2e_s", &summary.e2e},
       {"e2e_per_output_token_s", &summary.e2e_per_output_token},
       {"stall_s", &summary.stall}}};
  std::string small;
  for (const auto& [name, sample] : samples) {
    if (sample->count == 0 || sample->count >= kTooFewForP99) continue;
    small += fmt::format("{}{} {}", small.empty() ? "" : ", ", name, sample->count);
  }
  if (!small.empty()) {
    warnings.push_back(fmt::format("p99 of fewer than {} values lies between the two largest and says little: {}",
                                   kTooFewForP99, small));
  }
  return warnings;
}

}  // namespace blockyard::metrics
