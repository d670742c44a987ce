#include "sim/study/calibrate/least_squares.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "sim/base/check.h"
#include "sim/study/calibrate/normal_equations.h"
#include "sim/study/calibrate/worth.h"

namespace blockyard::study {
namespace {

constexpr double kExact = 1e-6;       // a share of the sum that is rounding where a fit is exact
constexpr double kSame = 0.999999;    // correlation of effects above which no arithmetic tells them apart
constexpr int kMostTries = 3;         // of a step, each half as long as the one before
constexpr double kWithinNoise = 0.5;  // of what noise alone would leave to mend: less is not worth a step

constexpr double kBeyondNoise = 4;  // of the same, where no step mends it: a fit that has not settled (two std. errors)
constexpr double kMostChange = 0.5;  // in a step, of a parameter's scale or of what it is
constexpr double kComesTrue = 0.2;   // of what a step foretold: then it is kept, whatever is left to mend

double norm_of(const Vector& v) { return std::sqrt(dot(v, v)); }

// The part of `v` along `unit`.
void take_out(Vector& v, const Vector& unit) {
  const double part = dot(v, unit);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] -= part * unit[i];
}

class Solver {
 public:
  Solver(const std::vector<FitParameter>& parameters, const Model& model, const FitOptions& options)
      : parameters_(&parameters), model_(&model), options_(options), kind_weights_(options.together, 1) {
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
    current_ = start_ = evaluate(values_);
    find_kinds();
    find_effects();
    weigh();
    for (const std::size_t j : candidates()) {
      if (free_.empty() || own_share(j) >= own_share_at(options_.alike)) free_.push_back(j);
    }
    descend();
    while (!all_hold()) continue;
    // What was kept out by one that has gone, or by where the others were, may come in now; each may try a few times.
    refused_.assign(refused_.size(), false);
    for (std::size_t stage = 0; stage < 2 * values_.size(); ++stage) {
      const std::optional<std::size_t> next = most_worthy();
      if (!next) break;
      free_.push_back(*next);
      descend();
      if (all_hold()) refused_.assign(refused_.size(), false);
    }
    while (!all_hold()) continue;
    if (sum_of(current_) > sum_of(start_)) give_up();
    describe();
    return fit_;
  }

 private:
  Evaluation evaluate(const Vector& values) {
    ++fit_.evaluations;
    Evaluation evaluation = (*model_)(values);
    CHECK_LAW(evaluation.slopes.size() == values.size(), "slopes of {} parameters, not {}", evaluation.slopes.size(),
              values.size());
    return evaluation;
  }

  // Weights as the residuals now tell them, beside those of the surest kind.
  void weigh() {
    for (std::size_t k = 0; k < options_.together; ++k)
      kind_weights_[k] = known_[k] ? 1 / std::max(options_.least_noise, noise_of_kind(k)) : 0;
    if (const double surest = std::ranges::max(kind_weights_); surest > 0) {
      for (double& w : kind_weights_) w /= surest;
    }
    take_columns();
  }
  // What neighbours of a kind still differ by where the parameters have mended what they could, were all linear: else a
  // kind would count for little just where a parameter that it tells of is far off.
  [[nodiscard]] double noise_of_kind(std::size_t kind) const {
    Vector rest = of_kind(current_.residuals, kind);
    std::vector<Vector> basis;
    for (std::size_t j = 0; j < values_.size(); ++j) {
      Vector column = of_kind(current_.slopes[j], kind);
      const double before = norm_of(column);
      for (const Vector& b : basis) take_out(column, b);
      const double norm = norm_of(column);
      if (!(norm > own_share_at(options_.alike) * before)) continue;
      for (double& x : column) x /= norm;
      take_out(rest, column);
      basis.push_back(std::move(column));
    }
    double sum = 0;
    for (std::size_t i = 1; i < rest.size(); ++i) sum += (rest[i] - rest[i - 1]) * (rest[i] - rest[i - 1]);
    return rest.size() > 1 ? std::sqrt(sum / 2 / static_cast<double>(rest.size() - 1)) : 0;
  }
  [[nodiscard]] Vector of_kind(const Vector& v, std::size_t kind) const {
    Vector those;
    for (std::size_t i = kind; i < v.size(); i += options_.together) those.push_back(v[i]);
    return those;
  }
  [[nodiscard]] double kind_weight(std::size_t i) const { return kind_weights_[i % kind_weights_.size()]; }
  // Of residual i, by kind and as Huber has it: by its root both residuals and slopes are multiplied.
  [[nodiscard]] double root_weight(std::size_t i) const {
    const double w = kind_weight(i);
    return w * std::sqrt(std::min(1.0, options_.outlier / std::max(w * std::abs(current_.residuals[i]), 1e-300)));
  }
  [[nodiscard]] double sum_of(const Evaluation& at) const {
    double sum = 0;
    for (std::size_t i = 0; i < at.residuals.size(); ++i) {
      const double a = kind_weight(i) * std::abs(at.residuals[i]);
      sum += a <= options_.outlier ? a * a : options_.outlier * (2 * a - options_.outlier);
    }
    return sum;
  }
  // With the weights of where the fit stands.
  [[nodiscard]] Vector weighted(Vector r) const {
    for (std::size_t i = 0; i < r.size(); ++i) r[i] *= root_weight(i);
    return r;
  }
  // Columns d residual / d (value / scale).
  void take_columns() {
    for (std::size_t j = 0; j < values_.size(); ++j) {
      columns_[j] = weighted(current_.slopes[j]);
      for (double& x : columns_[j]) x *= (*parameters_)[j].scale;
    }
  }

  // A kind that nobody measured is 0 throughout: it says nothing, and is not sure of it.
  void find_kinds() {
    known_.assign(options_.together, false);
    for (std::size_t i = 0; i < start_.residuals.size(); ++i) {
      const bool any =
          start_.residuals[i] != 0 || std::ranges::any_of(start_.slopes, [i](const Vector& s) { return s[i] != 0; });
      if (any) known_[i % options_.together] = true;
    }
  }
  // Residuals of kinds that were measured.
  [[nodiscard]] double known_residuals() const {
    const auto kinds = static_cast<double>(std::ranges::count(known_, true));
    return std::max(1.0, static_cast<double>(current_.residuals.size()) * kinds / static_cast<double>(known_.size()));
  }

  void find_effects() {
    const double n = known_residuals();
    for (std::size_t j = 0; j < values_.size(); ++j) {
      if ((*parameters_)[j].scale * norm_of(current_.slopes[j]) / std::sqrt(n) < options_.least_effect)
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

  // How much of this one's effect the free ones cannot have (Gram-Schmidt): 1 = all of it, 0 = nothing.
  [[nodiscard]] double own_share(std::size_t j) const {
    std::vector<Vector> basis;
    const auto rest_of = [&](Vector v) {
      for (const Vector& b : basis) take_out(v, b);
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
    return all > 0 ? norm_of(rest_of(columns_[j])) / all : 0;
  }
  [[nodiscard]] static double own_share_at(double correlation) { return std::sqrt(1 - correlation * correlation); }
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
    return worth.holds && gain > kExact * sum_of(start_);
  }

  // The parameter whose freedom foretells most; of those that are like it the first.
  [[nodiscard]] std::optional<std::size_t> most_worthy() const {
    std::vector<std::size_t> worthy;
    std::optional<std::size_t> best;
    double most = 0;
    for (const std::size_t j : candidates()) {
      if (own_share(j) < own_share_at(kSame)) continue;
      const Worth worth = worth_beside_free(j);
      if (!holds(worth) || leaves_bounds(j, worth.estimate)) continue;
      worthy.push_back(j);
      if (best && worth.gain <= most) continue;
      best = j;
      most = worth.gain;
    }
    for (const std::size_t j : worthy) {
      if (alike(j, *best) >= options_.alike) return j;
    }
    return best;
  }

  void descend() {
    fit_.settled = false;
    for (int i = 0; i < options_.most_iterations; ++i) {
      weigh();
      if (!improve()) break;
    }
    weigh();
  }

  // What would be best if all were linear: the change of every parameter, in units of its scale, and how much less the
  // sum would be. Those at a bound, and beyond it if they could, stay.
  struct Mend {
    Vector change;
    double less = 0;
    std::vector<std::size_t> at_bound;
  };
  [[nodiscard]] Mend mend() const {
    Mend found;
    std::vector<std::size_t> moving = free_;
    while (!solve(moving, found)) {
      const auto outward =
          std::ranges::find_if(moving, [&](std::size_t j) { return leaves_bounds(j, found.change[j]); });
      found.at_bound.push_back(*outward);
      moving.erase(outward);
    }
    return found;
  }
  // False if one at a bound wants to go on.
  bool solve(const std::vector<std::size_t>& moving, Mend& found) const {
    const std::size_t n = moving.size();
    const Vector r = weighted(current_.residuals);
    Vector a(n * n);
    Vector b(n);
    for (std::size_t i = 0; i < n; ++i) {
      b[i] = -dot(columns_[moving[i]], r);
      for (std::size_t j = 0; j < n; ++j) a[i * n + j] = dot(columns_[moving[i]], columns_[moving[j]]);
    }
    found.change.assign(values_.size(), 0);
    found.less = 0;
    Vector step;
    if (n == 0 || !solve_positive(std::move(a), Vector(b), step)) return true;
    for (std::size_t i = 0; i < n; ++i) {
      found.change[moving[i]] = step[i];
      found.less += step[i] * b[i];
    }
    return std::ranges::none_of(moving, [&](std::size_t j) { return leaves_bounds(j, found.change[j]); });
  }
  [[nodiscard]] bool leaves_bounds(std::size_t j, double change) const {
    const FitParameter& p = (*parameters_)[j];
    return change < 0 ? values_[j] <= p.low : change > 0 && values_[j] >= p.high;
  }
  [[nodiscard]] Vector effect_of(const Vector& change) const {
    Vector effect(current_.residuals.size());
    for (std::size_t j = 0; j < change.size(); ++j) {
      for (std::size_t i = 0; i < effect.size(); ++i) effect[i] += columns_[j][i] * change[j];
    }
    return effect;
  }

  // What a parameter that has nothing to mend would still mend of the sum. Outliers are not noise.
  [[nodiscard]] double noise_of_one() const {
    double sum = 0;
    for (std::size_t i = 0; i < current_.residuals.size(); ++i) {
      const double r = std::min(options_.outlier, kind_weight(i) * std::abs(current_.residuals[i]));
      sum += r * r;
    }
    return sum / known_residuals();
  }
  // One step; false if none is worth while.
  bool improve() {
    const Mend wanted = mend();
    const double noise = noise_of_one() * static_cast<double>(free_.size());
    fit_.settled = !(wanted.less > kBeyondNoise * noise);
    if (!(wanted.less > kWithinNoise * noise)) return false;
    const Vector from = values_;
    const Evaluation here = current_;
    double part = largest_part(wanted.change);
    for (int tries = 0; tries < kMostTries; ++tries, part /= 2) {
      const Vector taken = go(from, wanted.change, part / answer());
      note_answer(effect_of(taken), here, evaluate(values_));
      if (mend().less < wanted.less || sum_of(current_) < sum_of(here) - kComesTrue * part * wanted.less) return true;
      values_ = from;
      current_ = here;
      take_columns();
    }
    return false;
  }
  // Slopes do not hold far from where they were taken.
  [[nodiscard]] double largest_part(const Vector& change) const {
    double part = 1;
    for (std::size_t j = 0; j < change.size(); ++j) {
      const double most = kMostChange * std::max(1.0, std::abs(values_[j]) / (*parameters_)[j].scale);
      part = std::min(part, most / std::max(most, std::abs(change[j]) / answer()));
    }
    return part;
  }
  // Returns what of it the bounds allow.
  Vector go(const Vector& from, const Vector& change, double part) {
    Vector taken(from.size());
    for (std::size_t j = 0; j < from.size(); ++j) {
      const FitParameter& p = (*parameters_)[j];
      values_[j] = std::clamp(from[j] + part * change[j] * p.scale, p.low, p.high);
      taken[j] = (values_[j] - from[j]) / p.scale;
    }
    return taken;
  }
  // Large steps tell more of it than small ones.
  void note_answer(const Vector& foretold, const Evaluation& here, Evaluation there) {
    Vector seen = weighted(there.residuals);
    const Vector before = weighted(here.residuals);
    for (std::size_t i = 0; i < seen.size(); ++i) seen[i] -= before[i];
    foretold_ += dot(foretold, foretold);
    came_ += dot(foretold, seen);
    current_ = std::move(there);
    take_columns();
  }
  // What came to pass of what the steps foretold.
  [[nodiscard]] double answer() const {
    constexpr double kMost = 10;
    return foretold_ > 0 ? std::clamp(came_ / foretold_, 1 / kMost, kMost) : 1;
  }

  // The fit as it stands, linear around its values, parameters in units of their scale.
  [[nodiscard]] LinearisedFit linearised(const std::vector<std::size_t>& those) const {
    LinearisedFit fit;
    fit.together = options_.together;
    fit.stretches = options_.stretches;
    fit.residuals = weighted(current_.residuals);
    for (const std::size_t j : those) {
      fit.columns.push_back(columns_[j]);
      for (double& x : fit.columns.back()) x *= answer();
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
      refuse(free_[*least]);
    }
    for (const std::size_t j : mend().at_bound) {
      held[static_cast<std::size_t>(std::ranges::find(free_, j) - free_.begin())] = true;
      refuse(j);
    }
    if (std::ranges::find(held, true) == held.end()) return true;
    std::erase_if(free_, [&](std::size_t j) { return refused_[j]; });
    start_again();
    descend();
    return false;
  }
  // Of those that are like it the last.
  [[nodiscard]] std::optional<std::size_t> least_worthy(const std::vector<Worth>& worth,
                                                        const std::vector<bool>& held) const {
    const auto goes = [&](std::size_t a) { return !held[a] && !holds(worth[a]); };
    std::optional<std::size_t> least;
    for (std::size_t a = 0; a < worth.size(); ++a) {
      if (goes(a) && (!least || worth[a].gain < worth[*least].gain)) least = a;
    }
    for (std::size_t a = worth.size(); least && a-- > *least + 1;) {
      if (goes(a) && alike(free_[a], free_[*least]) >= options_.alike) return a;
    }
    return least;
  }
  void refuse(std::size_t j) {
    refused_[j] = true;
    values_[j] = (*parameters_)[j].start;
  }
  // From where the others are, unless the start is nearer to the data.
  void start_again() {
    current_ = evaluate(values_);
    if (sum_of(current_) > sum_of(start_)) {
      for (std::size_t j = 0; j < values_.size(); ++j) values_[j] = (*parameters_)[j].start;
      current_ = start_;
    }
    take_columns();
  }
  void give_up() {
    for (const std::size_t j : free_) refuse(j);
    free_.clear();
    current_ = start_;
    take_columns();
  }

  void describe() {
    fit_.sum_before = sum_of(start_);
    fit_.sum_after = sum_of(current_);
    for (std::size_t j = 0; j < values_.size(); ++j) {
      FittedParameter& p = fit_.parameters[j];
      p.value = values_[j];
      if (is_free(j)) {
        p.identified = Identified::yes;
      } else if (p.identified != Identified::no_effect) {
        describe_kept(j);
      }
    }
    for (const std::size_t j : free_) fit_.parameters[j].standard_error = standard_error(j) * (*parameters_)[j].scale;
  }
  // As sure as it is with those that it cannot be told apart from free beside it.
  [[nodiscard]] double standard_error(std::size_t j) const {
    std::vector<std::size_t> those = free_;
    for (std::size_t k = 0; k < values_.size(); ++k) {
      const FittedParameter& kept = fit_.parameters[k];
      if (kept.identified == Identified::like_another && kept.like == j && own_share(k) >= own_share_at(kSame))
        those.push_back(k);
    }
    const std::vector<Worth> worth = worth_of(linearised(those), std::vector<bool>(those.size()));
    return worth[static_cast<std::size_t>(std::ranges::find(those, j) - those.begin())].standard_error;
  }
  // Why one that has an effect was never freed, or did not stay so.
  void describe_kept(std::size_t j) {
    FittedParameter& p = fit_.parameters[j];
    const FitParameter& given = (*parameters_)[j];
    if (!free_.empty() && own_share(j) < own_share_at(options_.alike)) {
      p.identified = Identified::like_another;
      p.like = *std::ranges::max_element(free_, {}, [&](std::size_t k) { return alike(j, k); });
      return;
    }
    const Worth worth = worth_beside_free(j);
    const double wanted = given.start + worth.estimate * given.scale;
    p.refused = std::clamp(wanted, given.low, given.high);
    p.identified = holds(worth) && p.refused != wanted ? Identified::at_bound : Identified::no_gain;
  }

  const std::vector<FitParameter>* parameters_;
  const Model* model_;
  FitOptions options_;
  Vector kind_weights_;
  Vector values_;
  Evaluation current_;  // at the values
  Evaluation start_;
  std::vector<Vector> columns_;
  double foretold_ = 0;  // of all steps so far
  double came_ = 0;
  std::vector<bool> known_;    // by kind
  std::vector<bool> refused_;  // does not stand beside those that are free now
  std::vector<std::size_t> free_;
  Fit fit_;
};

}  // namespace

Fit fit_least_squares(const std::vector<FitParameter>& parameters, const Model& model, const FitOptions& options) {
  return Solver(parameters, model, options).run();
}

}  // namespace blockyard::study
