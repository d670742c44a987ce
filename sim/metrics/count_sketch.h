// Counts of positive integers in log-linear buckets, 1,024 a power of two, for the cheapest insert there is: the top
// bits of the value as a double are the bucket. A value read back (its bucket's middle) is off by at most 0.05 %.
// Insert about 10 instructions. Memory: 504 KiB from the first value on.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace blockyard::metrics {

class CountSketch {
 public:
  void add(std::int64_t value) {  // > 0
    const std::size_t b = bucket(value);
    if (counts_.empty()) counts_.resize(kBuckets);
    ++counts_[b];
    if (b > highest_) highest_ = b;
  }

  // The value below which all but `above` of those added lie; 0 if no more than these were added. O(buckets above it).
  [[nodiscard]] double from_top(std::int64_t above) const {
    if (counts_.empty()) return 0;
    for (std::size_t b = highest_ + 1; b-- > 0;) {
      above -= counts_[b];
      if (above < 0) return middle(b);
    }
    return 0;
  }

 private:
  static constexpr int kShift = 52 - 10;
  static constexpr std::uint64_t kFirst = std::bit_cast<std::uint64_t>(1.0) >> kShift;
  static constexpr std::size_t kBuckets = std::size_t{63} << 10;

  [[nodiscard]] static std::size_t bucket(std::int64_t value) {
    return static_cast<std::size_t>((std::bit_cast<std::uint64_t>(static_cast<double>(value)) >> kShift) - kFirst);
  }
  [[nodiscard]] static double middle(std::size_t bucket) {
    const double low = std::bit_cast<double>((bucket + kFirst) << kShift);
    const double high = std::bit_cast<double>((bucket + kFirst + 1) << kShift);
    return high - low <= 1 ? low : (low + high - 1) / 2;
  }

  std::vector<std::int64_t> counts_;
  std::size_t highest_ = 0;
};

}  // namespace blockyard::metrics
