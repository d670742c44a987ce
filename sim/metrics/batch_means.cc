#include "sim/metrics/batch_means.h"

#include <cmath>

namespace blockyard::metrics {
namespace {

// The 97.5 % point of Student's t, by its expansion in 1 / degrees of freedom (Abramowitz & Stegun, 26.7.5); from 19
// degrees on to four digits.
double student_t(double degrees) {
  const double z = 1.959963984540054;
  const double z3 = z * z * z;
  const double z5 = z3 * z * z;
  return z + (z3 + z) / (4 * degrees) + (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees);
}

}  // namespace

bool BatchMeans::add(double value) {
  sum_ += value;
  if (++filled_ < size_) return false;
  means_.push_back(sum_ / static_cast<double>(size_));
  sum_ = 0;
  filled_ = 0;
  if (means_.size() == 2 * kFewest) {
    for (std::size_t i = 0; i < kFewest; ++i) means_[i] = (means_[2 * i] + means_[2 * i + 1]) / 2;
    means_.resize(kFewest);
    size_ *= 2;
  }
  return true;
}

std::optional<double> BatchMeans::mean() const {
  if (means_.size() < kFewest) return std::nullopt;
  double sum = 0;
  for (const double m : means_) sum += m;
  return sum / static_cast<double>(means_.size());
}

std::optional<double> BatchMeans::relative_half_width() const {
  const std::optional<double> centre = mean();
  if (!centre || *centre == 0) return std::nullopt;
  double squares = 0;
  for (const double m : means_) squares += (m - *centre) * (m - *centre);
  const double n = static_cast<double>(means_.size());
  return student_t(n - 1) * std::sqrt(squares / (n - 1) / n) / std::abs(*centre);
}

}  // namespace blockyard::metrics
