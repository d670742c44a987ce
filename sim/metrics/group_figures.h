// What a run came to for some of its requests: those of a tenant, or of a class of limits (slo.h). The figures are
// those of summary.h, of the requests that arrived in the window of statistics, where there is one. Laws: over the
// groups of a kind requests and tokens add up to those of the run (or of the window), and so do good requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/metrics/quantiles.h"
#include "sim/metrics/record.h"
#include "sim/metrics/slo.h"

namespace blockyard::metrics {

struct GroupFigures {
  std::string name;  // of the class; of a tenant its number
  Slo slo;           // of a class
  std::int64_t arrived = 0;
  std::int64_t finished = 0;
  std::int64_t rejected = 0;
  std::int64_t timed_out = 0;
  std::int64_t unfinished = 0;
  std::int64_t prompt_tokens = 0;  // of all that arrived
  std::int64_t output_tokens = 0;  // of finished requests, by all their samples
  Distribution ttft;               // of finished requests
  Distribution tpot;
  Distribution e2e;
  std::optional<std::int64_t> good_requests;  // none without any limit
  std::optional<double> goodput_requests_per_s;
  std::optional<SloMisses> misses;

  [[nodiscard]] std::optional<double> good_share() const {
    if (!good_requests || arrived == 0) return std::nullopt;
    return static_cast<double>(*good_requests) / static_cast<double>(arrived);
  }
};

// The tenants of a run, that of the most requests first (of equals the smaller number).
struct TenantFigures {
  static constexpr std::size_t kMost = 1000;
  std::int64_t count = 0;
  std::vector<GroupFigures> tenants;   // kMost at most
  std::optional<GroupFigures> others;  // all the rest together
  std::int64_t folded = 0;             // tenants in `others`
};

using Records = std::vector<const RequestRecord*>;

// `classes`: those that records name, from 1; requests of none have `all`. Rates are over `span_s`; none if it is 0.
struct GroupRules {
  Slo all;
  std::vector<SloClass> classes;
  Seconds span_s = 0;

  [[nodiscard]] const Slo& slo_of(const RequestRecord& record) const {
    return record.slo_class == 0 ? all : classes[record.slo_class - 1U].slo;
  }
  [[nodiscard]] bool any_limit() const;
};

[[nodiscard]] GroupFigures figures_of(const Records& records, const GroupRules& rules);
// In the order of the classes; in front those of none, if there are any. Empty without classes.
[[nodiscard]] std::vector<GroupFigures> by_class(const Records& records, const GroupRules& rules);
// Empty if all records are of one tenant. O(n log n).
[[nodiscard]] TenantFigures by_tenant(const Records& records, const GroupRules& rules);

}  // namespace blockyard::metrics
