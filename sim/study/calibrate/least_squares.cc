#include "sim/study/calibrate/least_squares.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"

namespace blockyard::study {
namespace {

using Vector = std::vector<double>;
// Wide, since residuals of a simulation have steps of their own: a request comes just before or just after a plan.
constexpr double kDifference = 0.15;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Solves A x = b for a symmetric positive definite A by Cholesky; false where it is not. `a` is row-major, n x n.
bool solve(Vector a, Vector b, Vector& x) {
  const std::size_t n = b.size();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      if (i == j) {
        if (!(sum > 0)) return false;
        a[j * n + j] = std::sqrt(sum);
      } else {
        a[i * n + j] = sum / a[j * n + j];
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
  x = std::move(b);
  return true;
}

class Solver {
 public:
  Solver(const std::vector<FitParameter>& parameters, const Residuals& residuals, const FitOptions& options)
      : parameters_(&parameters), residuals_(&residuals), options_(options) {
    for (const FitParameter& p : parameters) {
      CHECK_LAW(p.scale > 0 && p.low <= p.start && p.start <= p.high, "a start of {} within {} to {}, scale {}",
                p.start, p.low, p.high, p.scale);
      values_.push_back(p.start);
    }
    fit_.parameters.resize(parameters.size());
  }

  Fit run() {
    current_ = evaluate(values_);
    fit_.sum_before = fit_.sum_after = sum_of(current_);
    differentiate();
    identify();
    double damping = 1e-3;
    for (int i = 0; i < options_.most_iterations && !free_.empty(); ++i) {
      const double before = fit_.sum_after;
      if (!improve(damping)) break;
      if (before - fit_.sum_after < options_.least_gain * before) break;
      differentiate();
    }
    for (std::size_t j = 0; j < values_.size(); ++j) fit_.parameters[j].value = values_[j];
    describe();
    return fit_;
  }

 private:
  Vector evaluate(const Vector& values) {
    ++fit_.evaluations;
    return (*residuals_)(values);
  }
  [[nodiscard]] double weight(double r) const {
    return std::min(1.0, options_.outlier / std::max(std::abs(r), 1e-300));
  }
  [[nodiscard]] double sum_of(const Vector& r) const {
    double sum = 0;
    for (const double x : r) {
      const double a = std::abs(x);
      sum += a <= options_.outlier ? a * a : options_.outlier * (2 * a - options_.outlier);
    }
    return sum;
  }

  // Columns d residual / d (value / scale), weighted by the root of the residual's weight.
  void differentiate() {
    columns_.assign(values_.size(), {});
    for (std::size_t j = 0; j < values_.size(); ++j) {
      if (fit_.parameters[j].identified != Identified::yes) continue;
      const FitParameter& p = (*parameters_)[j];
      double step = kDifference * p.scale;
      if (values_[j] + step > p.high) step = -step;
      Vector moved = values_;
      moved[j] += step;
      Vector column = evaluate(moved);
      for (std::size_t i = 0; i < column.size(); ++i)
        column[i] = (column[i] - current_[i]) * p.scale / step * std::sqrt(weight(current_[i]));
      columns_[j] = std::move(column);
    }
  }

  void identify() {
    const double n = std::max<double>(1, static_cast<double>(current_.size()));
    for (std::size_t j = 0; j < values_.size(); ++j) {
      FittedParameter& p = fit_.parameters[j];
      const double norm = std::sqrt(dot(columns_[j], columns_[j]));
      if (norm / std::sqrt(n) < options_.least_effect) {
        p.identified = Identified::no_effect;
        continue;
      }
      for (const std::size_t k : free_) {
        const double alike = dot(columns_[j], columns_[k]) / (norm * std::sqrt(dot(columns_[k], columns_[k])));
        if (std::abs(alike) < options_.most_alike) continue;
        p.identified = Identified::like_another;
        p.like = k;
        break;
      }
      if (p.identified == Identified::yes) free_.push_back(j);
    }
  }

  [[nodiscard]] Vector gradient() const {
    Vector weighted = current_;
    for (double& r : weighted) r *= std::sqrt(weight(r));
    Vector g;
    for (const std::size_t j : free_) g.push_back(dot(columns_[j], weighted));
    return g;
  }
  // Which of the free parameters are not held by a bound.
  [[nodiscard]] std::vector<std::size_t> movable(const Vector& g) const {
    std::vector<std::size_t> indices;
    for (std::size_t a = 0; a < free_.size(); ++a) {
      const FitParameter& p = (*parameters_)[free_[a]];
      const double v = values_[free_[a]];
      if ((v <= p.low && g[a] > 0) || (v >= p.high && g[a] < 0)) continue;
      indices.push_back(a);
    }
    return indices;
  }

  // One accepted step; false where none lowers the sum.
  bool improve(double& damping) {
    const Vector g = gradient();
    const std::vector<std::size_t> moving = movable(g);
    const std::size_t n = moving.size();
    if (n == 0) return false;
    constexpr double kMostDamping = 1e6;
    for (; damping < kMostDamping; damping *= 10) {
      Vector a(n * n);
      Vector b(n);
      for (std::size_t i = 0; i < n; ++i) {
        b[i] = -g[moving[i]];
        for (std::size_t j = 0; j < n; ++j) a[i * n + j] = dot(columns_[free_[moving[i]]], columns_[free_[moving[j]]]);
        a[i * n + i] *= 1 + damping;
      }
      Vector step;
      if (!solve(std::move(a), std::move(b), step)) continue;
      Vector next = values_;
      for (std::size_t i = 0; i < n; ++i) {
        const FitParameter& p = (*parameters_)[free_[moving[i]]];
        double& v = next[free_[moving[i]]];
        v = std::clamp(v + step[i] * p.scale, p.low, p.high);
      }
      Vector r = evaluate(next);
      const double sum = sum_of(r);
      if (!(sum < fit_.sum_after)) continue;
      values_ = std::move(next);
      current_ = std::move(r);
      fit_.sum_after = sum;
      damping = std::max(1e-6, damping / 10);
      return true;
    }
    return false;
  }

  void describe() {
    const std::size_t n = free_.size();
    if (n == 0 || current_.size() <= n) return;
    const Vector g = gradient();
    const std::vector<std::size_t> moving = movable(g);
    for (std::size_t a = 0; a < n; ++a)
      fit_.parameters[free_[a]].at_bound = std::ranges::find(moving, a) == moving.end();
    Vector normal(n * n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) normal[i * n + j] = dot(columns_[free_[i]], columns_[free_[j]]);
    }
    const double variance = fit_.sum_after / static_cast<double>(current_.size() - n);
    for (std::size_t i = 0; i < n; ++i) {
      Vector unit(n);
      unit[i] = 1;
      Vector inverse;
      if (!solve(normal, unit, inverse)) continue;
      fit_.parameters[free_[i]].standard_error = std::sqrt(variance * inverse[i]) * (*parameters_)[free_[i]].scale;
    }
  }

  const std::vector<FitParameter>* parameters_;
  const Residuals* residuals_;
  FitOptions options_;
  Vector values_;
  Vector current_;
  std::vector<Vector> columns_;
  std::vector<std::size_t> free_;
  Fit fit_;
};

}  // namespace

Fit fit_least_squares(const std::vector<FitParameter>& parameters, const Residuals& residuals,
                      const FitOptions& options) {
  return Solver(parameters, residuals, options).run();
}

}  // namespace blockyard::study
