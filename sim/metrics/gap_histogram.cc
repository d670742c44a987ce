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

double GapHistogram::gap_at(std::int64_t rank) const {
  const auto max = static_cast<double>(max_.count());
  if (rank >= count_ - 1) return max;
  std::int64_t up_to_here = 0;
  for (std::size_t b = 0; b < counts_.size(); ++b) {
    up_to_here += counts_[b];
    if (up_to_here > rank) return std::min(middle(b), max);
  }
  return max;
}

Seconds GapHistogram::quantile_s(double share) const {
  const double rank = share * static_cast<double>(count_ - 1);
  const auto low = static_cast<std::int64_t>(rank);
  const double fraction = rank - static_cast<double>(low);
  const double below = gap_at(low);
  const double above = fraction > 0 ? gap_at(low + 1) : below;
  return (below + fraction * (above - below)) / 1e9;
}

}  // namespace blockyard::metrics
