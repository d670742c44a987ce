#include "sim/report/groups_json.h"

#include <utility>

namespace blockyard::report {
namespace {

using metrics::GroupFigures;
using nlohmann::ordered_json;

ordered_json share(std::int64_t part, std::int64_t all) {
  return all == 0 ? ordered_json(nullptr) : ordered_json(static_cast<double>(part) / static_cast<double>(all));
}

// Of all that the groups of a kind have.
struct Whole {
  std::int64_t requests = 0;
  std::int64_t tokens = 0;

  void add(const GroupFigures& f) {
    requests += f.arrived;
    tokens += f.prompt_tokens + f.output_tokens;
  }
};

ordered_json group_json(const GroupFigures& f, const Whole& whole, const metrics::Slo* slo) {
  ordered_json j;
  j["requests"] = {{"arrived", f.arrived},
                   {"finished", f.finished},
                   {"rejected", f.rejected},
                   {"timed_out", f.timed_out},
                   {"unfinished", f.unfinished}};
  j["tokens"] = {{"prompt", f.prompt_tokens}, {"output", f.output_tokens}};
  j["share"] = {{"requests", share(f.arrived, whole.requests)},
                {"tokens", share(f.prompt_tokens + f.output_tokens, whole.tokens)}};
  j["latency"] = {{"ttft_s", distribution_json(f.ttft)},
                  {"tpot_s", distribution_json(f.tpot)},
                  {"e2e_s", distribution_json(f.e2e)}};
  if (!f.good_requests) return j;
  ordered_json& goodput = j["goodput"] = ordered_json::object();
  if (slo != nullptr) goodput["slo"] = slo_json(*slo);
  goodput["good_requests"] = *f.good_requests;
  goodput["good_share"] = number_or_null(f.good_share());
  goodput["requests_per_s"] = number_or_null(f.goodput_requests_per_s);
  if (slo != nullptr && f.misses) goodput["misses"] = misses_json(*slo, *f.misses);
  return j;
}

}  // namespace

ordered_json number_or_null(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json distribution_json(const metrics::Distribution& d) {
  ordered_json j;
  j["count"] = d.count;
  j["mean"] = number_or_null(d.mean_s);
  j["p50"] = number_or_null(d.p50_s);
  j["p90"] = number_or_null(d.p90_s);
  j["p99"] = number_or_null(d.p99_s);
  j["max"] = number_or_null(d.max_s);
  return j;
}

ordered_json slo_json(const metrics::Slo& slo) {
  const auto limit = [](const std::optional<SimTime>& time) {
    return time ? ordered_json(to_seconds(*time)) : ordered_json(nullptr);
  };
  return {{"ttft_s", limit(slo.ttft)}, {"tpot_s", limit(slo.tpot)}, {"e2e_s", limit(slo.e2e)}};
}

ordered_json misses_json(const metrics::Slo& slo, const metrics::SloMisses& misses) {
  ordered_json j = ordered_json::object();
  const auto limits = slo.limits();
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const metrics::SloMisses::Limit& missed = misses.limits[i];
    ordered_json& of_limit = j[metrics::kSloLimitNames[i]];
    if (limits[i]) of_limit = {{"requests", missed.requests}, {"alone", missed.alone}};
  }
  j["not_finished"] = misses.not_finished;
  return j;
}

void add_groups(const metrics::Summary& s, ordered_json& j) {
  if (!s.slo_classes.empty()) {
    Whole whole;
    for (const GroupFigures& f : s.slo_classes) whole.add(f);
    ordered_json& classes = j["slo_classes"] = ordered_json::object();
    for (const GroupFigures& f : s.slo_classes) classes[f.name] = group_json(f, whole, &f.slo);
  }
  const metrics::TenantFigures& tenants = s.tenants;
  if (tenants.count == 0) return;
  Whole whole;
  for (const GroupFigures& f : tenants.tenants) whole.add(f);
  if (tenants.others) whole.add(*tenants.others);
  ordered_json figures = ordered_json::array();
  for (const GroupFigures& f : tenants.tenants) {
    ordered_json tenant{{"tenant", std::stoll(f.name)}};
    tenant.update(group_json(f, whole, nullptr));
    figures.push_back(std::move(tenant));
  }
  j["tenants"] = {{"count", tenants.count}, {"folded", tenants.folded}, {"figures", std::move(figures)}};
  if (tenants.others) j["tenants"]["others"] = group_json(*tenants.others, whole, nullptr);
}

}  // namespace blockyard::report
