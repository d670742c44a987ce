// What a stream of requests looks like, to be compared with published tables.
//   rate_per_s = (n - 1) / span        gap_cv = population standard deviation of the inter-arrival gaps / mean gap
//   dispersion(w) = variance / mean of the counts in windows of w from the first arrival, the last one (cut) included;
//                   1 = Poisson         percentiles interpolate linearly between order statistics
// All counts, sums and order statistics are exact. Cost: O(1) a request; memory O(longest length), not O(requests).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sim/workload/request.h"

namespace blockyard::workload {

struct LengthStatistics {
  Tokens sum;
  Tokens min;
  Tokens max;
  double mean = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
};

struct TraceStatistics {
  std::int64_t requests = 0;
  SimTime span;           // first to last arrival
  double rate_per_s = 0;  // 0 when the span is 0
  double gap_cv = 0;
  SimTime largest_gap;
  std::int64_t distinct_arrivals = 0;
  double dispersion_1s = 0;
  double dispersion_60s = 0;
  std::int64_t peak_in_1s = 0;  // most arrivals in one of the 1-s windows
  LengthStatistics prompt_tokens;
  LengthStatistics output_tokens;
  Tokens max_total;  // the largest prompt + output of one request
};

// Exact counts of lengths: dense up to a length that no usual trace exceeds, sparse above.
class LengthCounts {
 public:
  void add(Tokens length);
  [[nodiscard]] LengthStatistics statistics() const;

 private:
  [[nodiscard]] double percentile(double fraction) const;
  std::vector<std::int64_t> dense_;
  std::map<std::int64_t, std::int64_t> sparse_;
  std::int64_t count_ = 0;
  Tokens sum_;
};

// Counts of arrivals in consecutive windows, kept as sums.
class WindowCounts {
 public:
  explicit WindowCounts(SimTime width) : width_(width) {}
  void add(SimTime since_first);
  [[nodiscard]] double dispersion() const;
  [[nodiscard]] std::int64_t peak() const;

 private:
  SimTime width_;
  std::int64_t window_ = 0;
  std::int64_t in_window_ = 0;
  std::int64_t total_ = 0;
  std::int64_t peak_ = 0;
  double sum_of_squares_ = 0;
};

class TraceMeter {
 public:
  void add(std::span<const Request> requests);
  [[nodiscard]] TraceStatistics statistics() const;

 private:
  std::int64_t requests_ = 0;
  std::int64_t distinct_ = 0;
  SimTime first_;
  SimTime last_;
  SimTime largest_gap_;
  double gap_mean_ = 0;  // Welford's running mean and sum of squared deviations, ns
  double gap_deviation_ = 0;
  WindowCounts seconds_{SimTime(kNanosecondsPerSecond)};
  WindowCounts minutes_{SimTime(60 * kNanosecondsPerSecond)};
  LengthCounts prompt_;
  LengthCounts output_;
  Tokens max_total_;
};

// Reads the source to its end.
[[nodiscard]] TraceStatistics measure(RequestSource& source);

}  // namespace blockyard::workload
