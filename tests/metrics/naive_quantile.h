// The quantile by its definition, on the whole sorted sample: what the fast ones are held against.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace blockyard::metrics {

// Rank q (n - 1), linear between the order statistics on both sides.
template <class T>
double naive_quantile(std::vector<T> sample, double q) {
  std::sort(sample.begin(), sample.end());
  const double rank = q * static_cast<double>(sample.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(rank));
  const auto high = static_cast<std::size_t>(std::ceil(rank));
  const double below = static_cast<double>(sample[low]);
  return below + (rank - static_cast<double>(low)) * (static_cast<double>(sample[high]) - below);
}

}  // namespace blockyard::metrics
