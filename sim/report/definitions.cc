#include "sim/report/definitions.h"

#include <fmt/format.h>

#include "sim/report/figures.h"
#include "sim/report/text_table.h"

namespace blockyard::report {
namespace {

constexpr std::size_t kColumns = 100;

void add_limit(std::string& text, const char* name, const std::optional<SimTime>& limit) {
  if (!limit) return;
  if (!text.empty()) text += ", ";
  text += fmt::format("{} <= {}", name, limit_text(*limit));
}

}  // namespace

std::string slo_text(const metrics::Slo& slo) {
  std::string text;
  add_limit(text, "TTFT", slo.ttft);
  add_limit(text, "TPOT", slo.tpot);
  add_limit(text, "E2E", slo.e2e);
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
