#include "sim/report/definitions.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/figures.h"
#include "sim/report/text_table.h"

namespace blockyard::report {
namespace {

constexpr std::size_t kColumns = 100;

}  // namespace

std::string slo_text(const metrics::Slo& slo) {
  std::string text;
  const auto limits = slo.limits();
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (!limits[i]) continue;
    text += fmt::format("{}{} <= {}", text.empty() ? "" : ", ", kSloLimitLabels[i], limit_text(*limits[i]));
  }
  return text;
}

std::string misses_text(const metrics::Slo& slo, const metrics::SloMisses& misses) {
  const auto limits = slo.limits();
  const bool several = std::ranges::count_if(limits, [](const auto& limit) { return limit.has_value(); }) > 1;
  std::string text;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (!limits[i]) continue;
    const metrics::SloMisses::Limit& missed = misses.limits[i];
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kSloLimitLabels[i], count_text(missed.requests));
    if (several && missed.requests > 0) text += fmt::format(" ({} alone)", count_text(missed.alone));
  }
  return fmt::format("{}{}{} not finished", text, text.empty() ? "" : "; ", count_text(misses.not_finished));
}

std::string marks_text(const metrics::Summary& summary) {
  std::string text;
  if (summary.interrupted) {
    text += "INTERRUPTED: the run was stopped from outside; all figures are of what was done by then.\n";
  }
  if (!summary.stuck.empty()) text += wrapped("STOPPED: ", summary.stuck, kColumns, "  ");
  return text;
}

}  // namespace blockyard::report
