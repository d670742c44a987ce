#include "sim/report/comparison_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sim/report/groups_text.h"

namespace blockyard::report {
namespace {

using metrics::GroupFigures;
using metrics::Summary;

const std::vector<GroupFigures>& classes_of(const Summary& s) { return s.slo_classes; }
const std::vector<GroupFigures>& tenants_of(const Summary& s) { return s.tenants.tenants; }

using GroupsOf = const std::vector<GroupFigures>& (*)(const Summary& s);

void add_rows(std::vector<ComparisonRow>& rows, const char* kind, const std::string& name, GroupsOf groups) {
  const auto add = [&](const char* figure, Figure as, const char* unit, bool ratio, auto of) {
    rows.push_back({fmt::format("by {}", kind), fmt::format("{}: {}", name, figure), as, unit, ratio, Show::if_sampled,
                    [=](const Summary& s) -> std::optional<double> {
                      const auto& all = groups(s);
                      const auto at = std::ranges::find(all, name, &GroupFigures::name);
                      if (at == all.end()) return std::nullopt;
                      return of(*at);
                    }});
  };
  add("requests", Figure::count, "", false, [](const GroupFigures& f) { return static_cast<double>(f.arrived); });
  add("TTFT mean", Figure::time, "", true, [](const GroupFigures& f) { return f.ttft.mean_s; });
  add("TTFT p99", Figure::time, "", true, [](const GroupFigures& f) { return f.ttft.p99_s; });
  add("E2E mean", Figure::time, "", true, [](const GroupFigures& f) { return f.e2e.mean_s; });
  add("goodput", Figure::number, "1/s", true, [](const GroupFigures& f) { return f.goodput_requests_per_s; });
  add("good, share", Figure::share, "", false, [](const GroupFigures& f) { return f.good_share(); });
}

// In the order of the first variant that has them.
std::vector<std::string> names_of(const std::vector<const Summary*>& summaries, GroupsOf groups, std::size_t most) {
  std::vector<std::string> names;
  for (const Summary* s : summaries) {
    for (const GroupFigures& f : groups(*s)) {
      if (names.size() < most && std::ranges::find(names, f.name) == names.end()) names.push_back(f.name);
    }
  }
  return names;
}

}  // namespace

std::vector<ComparisonRow> group_rows(const std::vector<const Summary*>& summaries) {
  std::vector<ComparisonRow> rows;
  for (const std::string& name : names_of(summaries, classes_of, metrics::kMostSloClasses))
    add_rows(rows, "class", name, classes_of);
  for (const std::string& name : names_of(summaries, tenants_of, kTenantsShown))
    add_rows(rows, "tenant", name, tenants_of);
  return rows;
}

}  // namespace blockyard::report
