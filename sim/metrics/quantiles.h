// Exact quantiles of a sample of times: linear interpolation between order statistics at rank q (n - 1), as numpy does
// by default (Hyndman & Fan, 1996, type 7). Cost: O(n) in all, by selection; the sample is reordered.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/quantities.h"

namespace blockyard::metrics {

// In a smaller sample a p99 lies between the two largest values and says little.
inline constexpr std::int64_t kTooFewForP99 = 100;

// All none if the sample is empty.
struct Distribution {
  std::int64_t count = 0;
  std::optional<Seconds> mean_s;
  std::optional<Seconds> p50_s;
  std::optional<Seconds> p90_s;
  std::optional<Seconds> p99_s;
  std::optional<Seconds> max_s;
};

// Samples in nanoseconds. The mean of integers is exact before its one rounding.
[[nodiscard]] Distribution distribution_of(std::vector<std::int64_t>& nanoseconds);
[[nodiscard]] Distribution distribution_of(std::vector<double>& nanoseconds);

}  // namespace blockyard::metrics
