// Distribution of the gaps between output tokens, one weighted insert for all tokens that share a gap.
// Log-linear buckets over integer nanoseconds: 1,024 a power of two, exact below 2,048 ns, so that a gap read back (its
// bucket's middle) is off by at most 0.05 %; count, mean and maximum are exact. Quantiles interpolate between order
// statistics as those of quantiles.h do, with the error of a gap. Insert O(1) without allocation, 2-3 ns; a quantile
// O(buckets). After Tene's HdrHistogram.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/check.h"
#include "sim/base/quantities.h"

namespace blockyard::metrics {

// Sums of products of 64-bit integers.
__extension__ using Int128 = __int128;

class GapHistogram {
 public:
  GapHistogram() : counts_(kBuckets) {}

  void add(SimTime gap, std::int64_t count) {
    CHECK_LAW(gap >= SimTime(0) && count >= 0, "{} gaps of {} ns", count, gap.count());
    counts_[bucket(static_cast<std::uint64_t>(gap.count()))] += count;
    count_ += count;
    sum_ += static_cast<Int128>(gap.count()) * count;
    if (gap > max_) max_ = gap;
  }

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] SimTime max() const { return max_; }
  // Both with count() > 0; 0 <= share <= 1.
  [[nodiscard]] Seconds mean_s() const;
  [[nodiscard]] Seconds quantile_s(double share) const;
  static constexpr double kRelativeError = 0.0005;

 private:
  static constexpr int kMantissaBits = 10;
  static constexpr std::size_t kBuckets = (64 - kMantissaBits) << kMantissaBits;

  // Values below 2^(bits + 1) are their own bucket; above, the top bits + 1 bits and the exponent are.
  [[nodiscard]] static std::size_t bucket(std::uint64_t value) {
    if (value < (2ULL << kMantissaBits)) return value;
    const int shift = static_cast<int>(std::bit_width(value)) - 1 - kMantissaBits;
    return (static_cast<std::size_t>(shift) << kMantissaBits) + static_cast<std::size_t>(value >> shift);
  }
  [[nodiscard]] static double middle(std::size_t bucket);
  [[nodiscard]] double gap_at(std::int64_t rank) const;  // ns; 0 = the smallest

  std::vector<std::int64_t> counts_;
  std::int64_t count_ = 0;
  Int128 sum_ = 0;
  SimTime max_;
};

}  // namespace blockyard::metrics
