#include "sim/metrics/group_figures.h"

#include <algorithm>
#include <utility>

#include "sim/base/stable_order.h"

namespace blockyard::metrics {
namespace {

void count_outcome(const RequestRecord& r, GroupFigures& f) {
  switch (r.outcome) {
    case Outcome::finished:
      ++f.finished;
      f.output_tokens += std::int64_t{r.generated_tokens} * r.samples;
      break;
    case Outcome::rejected:
      ++f.rejected;
      break;
    case Outcome::timed_out:
      ++f.timed_out;
      break;
    case Outcome::unfinished:
      ++f.unfinished;
      break;
  }
}

}  // namespace

bool GroupRules::any_limit() const {
  return all.any() || std::ranges::any_of(classes, [](const SloClass& c) { return c.slo.any(); });
}

GroupFigures figures_of(const Records& records, const GroupRules& rules) {
  GroupFigures f;
  f.arrived = static_cast<std::int64_t>(records.size());
  std::vector<std::int64_t> ttft;
  std::vector<std::int64_t> e2e;
  std::vector<double> tpot;
  ttft.reserve(records.size());
  e2e.reserve(records.size());
  tpot.reserve(records.size());
  SloMisses misses;
  std::int64_t good = 0;
  for (const RequestRecord* const record : records) {
    const RequestRecord& r = *record;
    count_outcome(r, f);
    f.prompt_tokens += r.prompt_tokens;
    if (count_misses(rules.slo_of(r), r, misses)) ++good;
    if (r.outcome != Outcome::finished) continue;
    ttft.push_back((r.first_token - r.arrival).count());
    e2e.push_back((r.ended - r.arrival).count());
    if (r.generated_tokens > 1)
      tpot.push_back(static_cast<double>((r.ended - r.first_token).count()) / (r.generated_tokens - 1));
  }
  f.ttft = distribution_of(ttft);
  f.tpot = distribution_of(tpot);
  f.e2e = distribution_of(e2e);
  if (!rules.any_limit()) return f;
  f.good_requests = good;
  f.misses = misses;
  if (rules.span_s > 0) f.goodput_requests_per_s = static_cast<double>(good) / rules.span_s;
  return f;
}

std::vector<GroupFigures> by_class(const Records& records, const GroupRules& rules) {
  std::vector<GroupFigures> groups;
  if (rules.classes.empty()) return groups;
  std::vector<Records> of_class(rules.classes.size() + 1);
  for (const RequestRecord* const record : records) of_class[record->slo_class].push_back(record);
  for (std::size_t c = 0; c < of_class.size(); ++c) {
    if (c == 0 && of_class[0].empty()) continue;
    GroupFigures& group = groups.emplace_back(figures_of(of_class[c], rules));
    group.name = c == 0 ? "(none)" : rules.classes[c - 1].name;
    group.slo = c == 0 ? rules.all : rules.classes[c - 1].slo;
  }
  return groups;
}

TenantFigures by_tenant(const Records& records, const GroupRules& rules) {
  TenantFigures figures;
  const auto tenant = [](const RequestRecord* r) { return r->tenant; };
  if (records.empty() || std::ranges::all_of(records, [&](auto r) { return tenant(r) == tenant(records[0]); }))
    return figures;
  Records sorted = records;
  sort_keeping_ties(sorted, tenant);
  std::vector<Records> tenants;
  for (auto from = sorted.begin(); from != sorted.end();) {
    const auto to = std::find_if(from, sorted.end(), [&](auto r) { return tenant(r) != tenant(*from); });
    tenants.emplace_back(from, to);
    from = to;
  }
  sort_keeping_ties(tenants, [](const Records& of) { return -static_cast<std::int64_t>(of.size()); });
  figures.count = static_cast<std::int64_t>(tenants.size());
  const std::size_t shown = std::min(tenants.size(), TenantFigures::kMost);
  figures.tenants.reserve(shown);
  for (std::size_t i = 0; i < shown; ++i) {
    figures.tenants.push_back(figures_of(tenants[i], rules));
    figures.tenants.back().name = std::to_string(tenants[i].front()->tenant);
  }
  Records rest;
  for (std::size_t i = shown; i < tenants.size(); ++i) rest.insert(rest.end(), tenants[i].begin(), tenants[i].end());
  if (rest.empty()) return figures;
  figures.others = figures_of(rest, rules);
  figures.others->name = "others";
  figures.folded = static_cast<std::int64_t>(tenants.size() - shown);
  return figures;
}

}  // namespace blockyard::metrics
