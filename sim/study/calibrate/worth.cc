#include "sim/study/calibrate/worth.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace blockyard::study {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

constexpr Worth kUntold{.gain = -kInfinite, .standard_error = kInfinite};

constexpr double kNotable = 0.01;  // a gain of less than this share of what is left is none
constexpr double kClear = 1.5;     // standard errors from its start, without which there is nothing to write
constexpr double kSure = 3.5;  // standard errors from its start: 1 in 100 by chance over eight stretches (Student's t)

// The normal equations of one stretch, or of all of them: J^T J and J^T r.
struct Normal {
  Vector matrix;
  Vector gradient;

  explicit Normal(std::size_t n) : matrix(n * n), gradient(n) {}
  void add(const LinearisedFit& fit, std::size_t begin, std::size_t end) {
    const std::size_t n = gradient.size();
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t i = begin; i < end; ++i) gradient[a] += fit.columns[a][i] * fit.residuals[i];
      for (std::size_t b = 0; b < n; ++b) {
        for (std::size_t i = begin; i < end; ++i) matrix[a * n + b] += fit.columns[a][i] * fit.columns[b][i];
      }
    }
  }
  [[nodiscard]] Normal without(const Normal& part) const {
    Normal rest = *this;
    for (std::size_t i = 0; i < matrix.size(); ++i) rest.matrix[i] -= part.matrix[i];
    for (std::size_t i = 0; i < gradient.size(); ++i) rest.gradient[i] -= part.gradient[i];
    return rest;
  }
  // The change of the parameters that is best, those held going to their start whatever the data say.
  [[nodiscard]] std::optional<Vector> best(const std::vector<bool>& held, const Vector& to_start) const {
    const std::size_t n = gradient.size();
    Vector change(n);
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < n; ++i) {
      if (held[i]) {
        change[i] = to_start[i];
      } else {
        free.push_back(i);
      }
    }
    Vector a(free.size() * free.size());
    Vector b(free.size());
    for (std::size_t i = 0; i < free.size(); ++i) {
      b[i] = -gradient[free[i]];
      for (std::size_t k = 0; k < n; ++k) b[i] -= matrix[free[i] * n + k] * change[k];  // of the free ones still 0
      for (std::size_t j = 0; j < free.size(); ++j) a[i * free.size() + j] = matrix[free[i] * n + free[j]];
    }
    Vector x;
    if (!solve_positive(std::move(a), std::move(b), x)) return std::nullopt;
    for (std::size_t i = 0; i < free.size(); ++i) change[free[i]] = x[i];
    return change;
  }
};

// Of each kind of residuals within [begin, end).
Vector squares(const LinearisedFit& fit, const Vector& change, std::size_t begin, std::size_t end) {
  Vector sums(fit.together);
  for (std::size_t i = begin; i < end; ++i) {
    double r = fit.residuals[i];
    for (std::size_t a = 0; a < change.size(); ++a) r += fit.columns[a][i] * change[a];
    sums[i % fit.together] += r * r;
  }
  return sums;
}

double mean_of(const Vector& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double squared_deviations(const Vector& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double v : values) sum += (v - mean) * (v - mean);
  return sum;
}

// One parameter, one kind of residuals (or all): a gain, and what is left, for each stretch.
struct Gains {
  Vector gain;
  Vector left;
  [[nodiscard]] bool hold() const {
    const auto m = static_cast<double>(gain.size());
    std::size_t better = 0;
    for (std::size_t i = 0; i < gain.size(); ++i) {
      if (gain[i] > kNotable * left[i]) ++better;
    }
    const double mean = mean_of(gain);
    const double error = std::sqrt(squared_deviations(gain) / (m - 1) / m);
    return 2 * better > gain.size() && (mean > 2 * error || mean * m > 4 * mean_of(left));
  }
};

// Of one parameter: the kinds in turn, and all together.
class Judgement {
 public:
  Judgement(std::size_t kinds, double to_start) : by_kind_(kinds), to_start_(to_start) {}
  void add(const Vector& held, const Vector& free, double estimate) {
    for (std::size_t k = 0; k < by_kind_.size(); ++k) {
      by_kind_[k].gain.push_back(held[k] - free[k]);
      by_kind_[k].left.push_back(free[k]);
    }
    all_.gain.push_back(std::accumulate(held.begin(), held.end(), 0.0) -
                        std::accumulate(free.begin(), free.end(), 0.0));
    all_.left.push_back(std::accumulate(free.begin(), free.end(), 0.0));
    estimates_.push_back(estimate);
  }
  [[nodiscard]] Worth worth() const {
    const auto m = static_cast<double>(estimates_.size());
    const double error = std::sqrt((m - 1) / m * squared_deviations(estimates_));
    const double distance = std::abs(mean_of(estimates_) - to_start_);
    const double moved = to_start_ != 0 ? std::abs(to_start_) : distance;  // so far, or by what it would be
    const bool any = distance > kSure * error || all_.hold() || std::ranges::any_of(by_kind_, &Gains::hold);
    const double gain = mean_of(all_.gain);
    return {.holds = gain > 0 && any && moved > kClear * error, .gain = gain, .estimate = 0, .standard_error = error};
  }

 private:
  std::vector<Gains> by_kind_;
  Gains all_;
  Vector estimates_;
  double to_start_;
};

}  // namespace

std::vector<Worth> worth_of(const LinearisedFit& fit, const std::vector<bool>& held) {
  const std::size_t n = fit.columns.size();
  const std::size_t size = fit.residuals.size();
  const std::size_t groups = (size + fit.together - 1) / fit.together;
  const std::size_t parts = std::min(fit.stretches, groups);
  if (parts < 2) return std::vector<Worth>(n, kUntold);
  const auto start_of = [&](std::size_t part) { return std::min(size, part * groups / parts * fit.together); };
  Normal all(n);
  all.add(fit, 0, size);
  std::vector<Judgement> judgements;
  judgements.reserve(n);
  for (std::size_t j = 0; j < n; ++j) judgements.emplace_back(fit.together, fit.to_start[j]);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = start_of(part);
    const std::size_t end = start_of(part + 1);
    Normal own(n);
    own.add(fit, begin, end);
    const Normal others = all.without(own);
    const std::optional<Vector> free = others.best(held, fit.to_start);
    if (!free) return std::vector<Worth>(n, kUntold);
    const Vector left = squares(fit, *free, begin, end);
    for (std::size_t j = 0; j < n; ++j) {
      std::vector<bool> one_more = held;
      one_more[j] = true;
      const std::optional<Vector> without = others.best(one_more, fit.to_start);
      judgements[j].add(without ? squares(fit, *without, begin, end) : left, left, (*free)[j]);
    }
  }
  const std::optional<Vector> whole = all.best(held, fit.to_start);
  std::vector<Worth> worth;
  for (std::size_t j = 0; j < n; ++j) {
    worth.push_back(judgements[j].worth());
    worth.back().estimate = whole ? (*whole)[j] : 0;
  }
  return worth;
}

}  // namespace blockyard::study
