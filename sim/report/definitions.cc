#include "sim/report/definitions.h"

#include <fmt/format.h>

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

std::string marks_text(const metrics::Summary& summary) {
  std::string text;
  if (summary.interrupted) {
    text += "INTERRUPTED: the run was stopped from outside; all figures are of what was done by then.\n";
  }
  if (!summary.stuck.empty()) text += wrapped("STOPPED: ", summary.stuck, kColumns, "  ");
  return text;
}

}  // namespace blockyard::report
