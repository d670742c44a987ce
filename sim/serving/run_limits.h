// When a run has seen enough: a simulated time, a number of finished requests, or a metric whose mean is known well
// enough. What is out then stays unfinished.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/diagnostics.h"
#include "sim/metrics/batch_means.h"
#include "sim/metrics/record.h"
#include "sim/scenario/document.h"

namespace blockyard::serving {

enum class ConvergingMetric : std::uint8_t { ttft, tpot, e2e };

struct RunLimits {
  std::optional<SimTime> time;           // since the first arrival
  std::optional<std::int64_t> requests;  // finished
  std::optional<ConvergingMetric> metric;
  double precision = 0.05;  // half of the 95 % confidence interval of its mean, over the mean
  SimTime warm_up;          // requests that arrive before do not enter the mean

  // Must the run be looked at whenever a request ends?
  [[nodiscard]] bool count_ends() const { return requests || metric; }
};

[[nodiscard]] RunLimits run_limits(const scenario::Document& scenario, Diagnostics& errors);

// Is told of every request that ends, in order.
class EnoughSeen {
 public:
  explicit EnoughSeen(const RunLimits& limits) : limits_(limits) {}
  void ended(const metrics::RequestRecord& record);
  // Why the run may stop, "" while it may not.
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  RunLimits limits_;
  metrics::BatchMeans values_;
  std::int64_t finished_ = 0;
  std::string why_;
};

}  // namespace blockyard::serving
