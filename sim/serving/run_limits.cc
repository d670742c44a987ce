#include "sim/serving/run_limits.h"

#include <fmt/format.h>

namespace blockyard::serving {
namespace {

const char* name_of(ConvergingMetric metric) {
  switch (metric) {
    case ConvergingMetric::ttft:
      return "TTFT";
    case ConvergingMetric::tpot:
      return "TPOT";
    case ConvergingMetric::e2e:
      break;
  }
  return "E2E";
}

// In seconds; none for a request that has no such value.
std::optional<double> value_of(ConvergingMetric metric, const metrics::RequestRecord& r) {
  switch (metric) {
    case ConvergingMetric::ttft:
      return to_seconds(r.first_token - r.arrival);
    case ConvergingMetric::tpot:
      if (r.generated_tokens < 2) return std::nullopt;
      return to_seconds(r.ended - r.first_token) / (r.generated_tokens - 1);
    case ConvergingMetric::e2e:
      break;
  }
  return to_seconds(r.ended - r.arrival);
}

}  // namespace

RunLimits run_limits(const scenario::Document& scenario, Diagnostics& errors) {
  RunLimits limits;
  limits.warm_up = scenario.time("run.warm_up");
  if (!scenario.is_word("run.max_time", "unlimited")) {
    limits.time = scenario.time("run.max_time");
    if (*limits.time <= limits.warm_up) {
      errors.add(scenario.place("run.max_time"), "run.max_time: nothing is left after run.warm_up");
    }
  }
  if (!scenario.is_word("run.max_requests", "unlimited")) limits.requests = scenario.integer("run.max_requests");
  const std::string& metric = scenario.choice("run.until.metric");
  if (metric == "none") {
    if (scenario.is_set("run.until.precision"))
      errors.add(scenario.place("run.until.precision"),
                 "run.until.precision: of which metric? run.until.metric is none");
    return limits;
  }
  limits.metric = metric == "ttft"   ? ConvergingMetric::ttft
                  : metric == "tpot" ? ConvergingMetric::tpot
                                     : ConvergingMetric::e2e;
  limits.precision = scenario.real("run.until.precision");
  return limits;
}

void EnoughSeen::ended(const metrics::RequestRecord& record) {
  if (record.outcome != metrics::Outcome::finished || !why_.empty()) return;
  if (limits_.requests && ++finished_ >= *limits_.requests) {
    why_ = fmt::format("run.max_requests: {} requests had finished", finished_);
    return;
  }
  if (!limits_.metric || record.arrival < limits_.warm_up) return;
  const std::optional<double> value = value_of(*limits_.metric, record);
  if (!value || !values_.add(*value)) return;
  const std::optional<double> width = values_.relative_half_width();
  if (width && *width <= limits_.precision) {
    why_ = fmt::format("run.until: the mean {} was known to {:.2g} %, at 95 % confidence, from batches of {} requests",
                       name_of(*limits_.metric), 100 * *width, values_.batch_size());
  }
}

}  // namespace blockyard::serving
