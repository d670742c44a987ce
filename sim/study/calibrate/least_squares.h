// Bounded non-linear least squares for a handful of parameters whose residuals are expensive: Levenberg-Marquardt with
// a Jacobian by differences, steps cut at the bounds, parameters at a bound left out while the gradient pushes them
// outward. Residuals are weighted as Huber does: beyond `outlier` they count linearly, so that a few requests that
// something else held up do not bend the fit (Nocedal & Wright, 2006, chapter 10; Huber, 1964).
// Law: the weighted sum of squares never rises. Deterministic. Cost: (parameters + a few) evaluations an iteration.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace blockyard::study {

struct FitParameter {
  double start = 0;
  double low = 0;
  double high = 0;
  double scale = 1;  // a change that matters: differences are taken over 0.15 of it
};

using Residuals = std::function<std::vector<double>(const std::vector<double>& values)>;

struct FitOptions {
  int most_iterations = 15;
  double outlier = 0.3;
  double least_gain = 1e-3;    // an iteration that gains less than this share of the sum ends the fit
  double least_effect = 2e-3;  // rms change of the residuals for a change by `scale`, below which nothing is known
  double most_alike = 0.98;    // correlation of two parameters' effects, above which they cannot be told apart
};

enum class Identified { yes, no_effect, like_another };

struct FittedParameter {
  double value = 0;
  double standard_error = 0;  // of independent residuals; 0 where it was not fitted
  Identified identified = Identified::yes;
  std::size_t like = 0;   // the earlier parameter that it cannot be told apart from
  bool at_bound = false;  // the data ask for more than the bounds allow
};

struct Fit {
  std::vector<FittedParameter> parameters;  // those not identified keep their start
  double sum_before = 0;                    // weighted sums of squares
  double sum_after = 0;
  int evaluations = 0;
};

[[nodiscard]] Fit fit_least_squares(const std::vector<FitParameter>& parameters, const Residuals& residuals,
                                    const FitOptions& options = {});

}  // namespace blockyard::study
