#include "sim/metrics/quantiles.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "sim/metrics/gap_histogram.h"

namespace blockyard::metrics {
namespace {

// The value at rank q (n - 1) of the `total` smallest-first sample whose first sample.size() elements are `sample`,
// unordered. Leaves everything up to the rank in front and returns how long that front is.
template <class T>
std::size_t select(std::span<T> sample, std::size_t total, double q, double& value) {
  const double rank = q * static_cast<double>(total - 1);
  const auto low = static_cast<std::size_t>(rank);
  const auto at = sample.begin() + static_cast<std::ptrdiff_t>(low);
  std::nth_element(sample.begin(), at, sample.end());
  const double below = static_cast<double>(*at);
  const double fraction = rank - static_cast<double>(low);
  double above = below;
  if (fraction > 0) above = static_cast<double>(*std::min_element(at + 1, sample.end()));
  value = below + fraction * (above - below);
  // The next, smaller quantile interpolates at most up to this element.
  return low + 1;
}

template <class T, class Sum>
Distribution distribution(std::vector<T>& sample) {
  Distribution d;
  d.count = static_cast<std::int64_t>(sample.size());
  if (sample.empty()) return d;
  Sum sum = 0;
  T max = sample.front();
  for (const T x : sample) {
    sum += x;
    max = std::max(max, x);
  }
  d.mean_s = static_cast<double>(sum) / static_cast<double>(sample.size()) / 1e9;
  d.max_s = static_cast<double>(max) / 1e9;
  std::span<T> front(sample);
  double value = 0;
  for (const auto& [q, out] : {std::pair(0.99, &d.p99_s), std::pair(0.9, &d.p90_s), std::pair(0.5, &d.p50_s)}) {
    const std::size_t length = select(front, sample.size(), q, value);
    *out = value / 1e9;
    // One element more, since in a small sample the next rank may lie between the same two order statistics.
    front = front.first(std::min(front.size(), length + 1));
  }
  return d;
}

}  // namespace

Distribution distribution_of(std::vector<std::int64_t>& nanoseconds) {
  return distribution<std::int64_t, Int128>(nanoseconds);
}
Distribution distribution_of(std::vector<double>& nanoseconds) { return distribution<double, double>(nanoseconds); }

}  // namespace blockyard::metrics
