#include "sim/metrics/gap_histogram.h"

#include <algorithm>
#include <cmath>

namespace blockyard::metrics {

Seconds GapHistogram::mean_s() const { return static_cast<double>(sum_) / static_cast<double>(count_) / 1e9; }

double GapHistogram::middle(std::size_t bucket) {
  if (bucket < (std::size_t{2} << kMantissaBits)) return static_cast<double>(bucket);
  const int shift = static_cast<int>(bucket >> kMantissaBits) - 1;
  const std::uint64_t low = (static_cast<std::uint64_t>(bucket) - (static_cast<std::uint64_t>(shift) << kMantissaBits))
                            << shift;
  return static_cast<double>(low) + (std::ldexp(1.0, shift) - 1) / 2;
}

Seconds GapHistogram::quantile_s(double share) const {
  const auto rank = static_cast<std::int64_t>(std::llround(share * static_cast<double>(count_ - 1)));
  std::int64_t below = 0;
  for (std::size_t b = 0; b < counts_.size(); ++b) {
    below += counts_[b];
    if (below > rank) return std::min(middle(b), static_cast<double>(max_.count())) / 1e9;
  }
  return to_seconds(max_);
}

}  // namespace blockyard::metrics
