#include "sim/study/calibrate/least_squares.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "sim/base/check.h"
#include "sim/study/calibrate/normal_equations.h"
#include "sim/study/calibrate/worth.h"

namespace blockyard::study {
namespace {

// Wide, since residuals of a simulation have steps of their own: a request comes just before or just after a plan.
constexpr double kDifference = 0.15;
constexpr double kExact = 1e-6;  // a share of the sum that is rounding where a fit is exact

double norm_of(const Vector& v) { return std::sqrt(dot(v, v)); }

// Sum of squares that white noise with these differences between neighbours has; neighbours are `lag` apart.
double squared_jitter(const Vector& v, std::size_t lag) {
  if (v.size() <= lag) return 0;
  double sum = 0;
  for (std::size_t i = lag; i < v.size(); ++i) sum += (v[i] - v[i - lag]) * (v[i] - v[i - lag]);
  return sum / 2 * static_cast<double>(v.size()) / static_cast<double>(v.size() - lag);
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
    columns_.resize(parameters.size());
    refused_.resize(parameters.size());
  }

  Fit run() {
    current_ = start_residuals_ = evaluate(values_);
    fit_.sum_before = fit_.sum_after = sum_of(current_);
    differentiate(every());
    find_effects();
    for (const std::size_t j : candidates()) {
      if (free_.empty() || own_share(j) >= least_own()) free_.push_back(j);
    }
    descend();
    while (!all_hold()) continue;
    differentiate(every());
    // What was kept out by one that has gone may come in now; each may try a few times.
    for (std::size_t stage = 0; stage < 2 * values_.size(); ++stage) {
      const std::optional<std::size_t> next = most_worthy();
      if (!next) break;
      free_.push_back(*next);
      descend();
      if (all_hold()) refused_.assign(refused_.size(), false);
      differentiate(every());
    }
    while (!all_hold()) continue;
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

  [[nodiscard]] std::vector<std::size_t> every() const {
    std::vector<std::size_t> all(values_.size());
    std::iota(all.begin(), all.end(), 0U);
    return all;
  }

  // Columns d residual / d (value / scale), weighted by the root of the residual's weight.
  void differentiate(const std::vector<std::size_t>& which) {
    for (const std::size_t j : which) {
      if (fit_.parameters[j].identified == Identified::no_effect) continue;
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

  void find_effects() {
    const double n = std::max<double>(1, static_cast<double>(current_.size()));
    for (std::size_t j = 0; j < values_.size(); ++j) {
      if (norm_of(columns_[j]) / std::sqrt(n) < options_.least_effect)
        fit_.parameters[j].identified = Identified::no_effect;
    }
  }

  [[nodiscard]] bool is_free(std::size_t j) const { return std::ranges::find(free_, j) != free_.end(); }
  [[nodiscard]] std::vector<std::size_t> candidates() const {
    std::vector<std::size_t> found;
    for (std::size_t j = 0; j < values_.size(); ++j) {
      if (fit_.parameters[j].identified != Identified::no_effect && !refused_[j] && !is_free(j)) found.push_back(j);
    }
    return found;
  }

  // How much of this one's effect the free ones cannot have (Gram-Schmidt): 1 = all of it, 0 = nothing. Effects of a
  // simulation jitter, since a request comes just before or just after a plan: what neighbours differ by is no effect.
  [[nodiscard]] double own_share(std::size_t j) const {
    std::vector<Vector> basis;
    const auto rest_of = [&](Vector v) {
      for (const Vector& b : basis) {
        const double part = dot(v, b);
        for (std::size_t i = 0; i < v.size(); ++i) v[i] -= part * b[i];
      }
      return v;
    };
    for (const std::size_t k : free_) {
      Vector rest = rest_of(columns_[k]);
      const double norm = norm_of(rest);
      if (!(norm > 0)) continue;
      for (double& x : rest) x /= norm;
      basis.push_back(std::move(rest));
    }
    const double all = norm_of(columns_[j]);
    if (!(all > 0)) return 0;
    const Vector rest = rest_of(columns_[j]);
    const double effect = dot(rest, rest) - squared_jitter(rest, options_.together);
    return std::sqrt(std::max(0.0, effect)) / all;
  }
  [[nodiscard]] double least_own() const { return std::sqrt(1 - options_.most_alike * options_.most_alike); }
  [[nodiscard]] double alike(std::size_t j, std::size_t k) const {
    return std::abs(dot(columns_[j], columns_[k])) / (norm_of(columns_[j]) * norm_of(columns_[k]));
  }

  // Of one parameter that joins the free ones.
  [[nodiscard]] Worth worth_beside_free(std::size_t j) const {
    std::vector<std::size_t> those = free_;
    those.push_back(j);
    return worth_of(linearised(those), std::vector<bool>(those.size())).back();
  }
  [[nodiscard]] bool holds(const Worth& worth) const {
    const double gain = worth.gain * static_cast<double>(options_.stretches);
    return worth.holds && gain > kExact * fit_.sum_before;
  }

  // The parameter whose freedom foretells most; of those that cannot be told apart from it the first.
  [[nodiscard]] std::optional<std::size_t> most_worthy() const {
    std::vector<std::size_t> worthy;
    std::optional<std::size_t> best;
    double most = 0;
    for (const std::size_t j : candidates()) {
      if (own_share(j) < least_own()) continue;
      const Worth worth = worth_beside_free(j);
      if (!holds(worth)) continue;
      worthy.push_back(j);
      if (best && worth.gain <= most) continue;
      best = j;
      most = worth.gain;
    }
    for (const std::size_t j : worthy) {
      if (alike(j, *best) >= options_.most_alike) return j;
    }
    return best;
  }

  void descend() {
    double damping = 1e-3;
    for (int i = 0; i < options_.most_iterations && !free_.empty(); ++i) {
      const double before = fit_.sum_after;
      if (!improve(damping)) break;
      const bool enough = before - fit_.sum_after < options_.least_gain * before;
      differentiate(free_);
      if (enough) break;
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
      if (!solve_positive(std::move(a), std::move(b), step)) continue;
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

  // The fit as it stands, linear around its values, parameters in units of their scale.
  [[nodiscard]] LinearisedFit linearised(const std::vector<std::size_t>& those) const {
    LinearisedFit fit;
    fit.together = options_.together;
    fit.stretches = options_.stretches;
    fit.residuals = current_;
    for (double& r : fit.residuals) r *= std::sqrt(weight(r));
    for (const std::size_t j : those) {
      fit.columns.push_back(columns_[j]);
      fit.to_start.push_back(((*parameters_)[j].start - values_[j]) / (*parameters_)[j].scale);
    }
    return fit;
  }

  // Free parameters that are worth nothing beside the others go, the least worthy first; so do those at a bound. False
  // if any went: then the others are fitted anew.
  bool all_hold() {
    const LinearisedFit fit = linearised(free_);
    std::vector<bool> held(free_.size());
    while (const std::optional<std::size_t> least = least_worthy(worth_of(fit, held), held)) {
      held[*least] = true;
      refuse(free_[*least], Identified::no_gain);
    }
    const std::vector<std::size_t> moving = movable(gradient());
    for (std::size_t a = 0; a < free_.size(); ++a) {
      if (held[a] || std::ranges::find(moving, a) != moving.end()) continue;
      held[a] = true;
      refuse(free_[a], Identified::at_bound);
    }
    if (std::ranges::find(held, true) == held.end()) return true;
    std::erase_if(free_, [&](std::size_t j) { return refused_[j]; });
    start_again();
    descend();
    return false;
  }
  [[nodiscard]] std::optional<std::size_t> least_worthy(const std::vector<Worth>& worth,
                                                        const std::vector<bool>& held) const {
    std::optional<std::size_t> least;
    for (std::size_t a = 0; a < worth.size(); ++a) {
      if (held[a] || holds(worth[a])) continue;
      if (!least || worth[a].gain <= worth[*least].gain) least = a;  // of two alike the later one
    }
    return least;
  }
  void refuse(std::size_t j, Identified why) {
    FittedParameter& p = fit_.parameters[j];
    refused_[j] = true;
    p.identified = why;
    p.refused = values_[j];
    values_[j] = (*parameters_)[j].start;
  }
  // From where the others are, unless the start is nearer to the data.
  void start_again() {
    current_ = evaluate(values_);
    fit_.sum_after = sum_of(current_);
    if (fit_.sum_after > fit_.sum_before) {
      for (std::size_t j = 0; j < values_.size(); ++j) values_[j] = (*parameters_)[j].start;
      current_ = start_residuals_;
      fit_.sum_after = fit_.sum_before;
    }
    differentiate(free_);
  }

  void describe() {
    const std::vector<Worth> worth = worth_of(linearised(free_), std::vector<bool>(free_.size()));
    for (std::size_t j = 0; j < values_.size(); ++j) {
      FittedParameter& p = fit_.parameters[j];
      p.value = values_[j];
      if (const auto found = std::ranges::find(free_, j); found != free_.end()) {
        const auto a = static_cast<std::size_t>(found - free_.begin());
        p.identified = Identified::yes;
        p.standard_error = worth[a].standard_error * (*parameters_)[j].scale;
      } else if (p.identified == Identified::yes || p.identified == Identified::no_gain) {
        describe_kept(j);
      }
    }
  }
  // Why one that has an effect was never freed, or did not stay so.
  void describe_kept(std::size_t j) {
    FittedParameter& p = fit_.parameters[j];
    if (!free_.empty() && own_share(j) < least_own()) {
      p.identified = Identified::like_another;
      p.like = *std::ranges::max_element(free_, {}, [&](std::size_t k) { return alike(j, k); });
      return;
    }
    if (p.identified == Identified::no_gain) return;
    const FitParameter& given = (*parameters_)[j];
    p.identified = Identified::no_gain;
    p.refused = std::clamp(given.start + worth_beside_free(j).estimate * given.scale, given.low, given.high);
  }

  const std::vector<FitParameter>* parameters_;
  const Residuals* residuals_;
  FitOptions options_;
  Vector values_;
  Vector current_;  // residuals at the values
  Vector start_residuals_;
  std::vector<Vector> columns_;
  std::vector<bool> refused_;  // does not stand beside those that are free now
  std::vector<std::size_t> free_;
  Fit fit_;
};

}  // namespace

Fit fit_least_squares(const std::vector<FitParameter>& parameters, const Residuals& residuals,
                      const FitOptions& options) {
  return Solver(parameters, residuals, options).run();
}

}  // namespace blockyard::study
