// Bounded non-linear least squares for a handful of parameters whose residuals are expensive: Levenberg-Marquardt with
// a Jacobian by differences, steps cut at the bounds, parameters at a bound left out while the gradient pushes them
// outward. Residuals are weighted as Huber does: beyond `outlier` they count linearly, so that a few requests that
// something else held up do not bend the fit (Nocedal & Wright, 2006, chapter 10; Huber, 1964).
//
// Parameters are freed one after the other, each time the one that foretells most; those that the data cannot tell keep
// their start:
//   no_effect     the residuals hardly change with it
//   no_gain       stretches of the data that a fit leaves out are foretold no better with it free than at its start,
//                 beside those that are free (sim/study/calibrate/worth.h)
//   like_another  what it does, those that are free can do as well; of two alike the earlier one is freed
//   at_bound      the data ask for more than the bounds allow: something else is amiss, which it would only hide
//
// Law: the weighted sum of squares never ends above that of the start. Deterministic. Cost: for each parameter that is
// freed (parameters + a few) evaluations, and as many again in the end.
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
  double most_alike = 0.98;    // correlation of an effect with what others can do, above which it is theirs
  std::size_t together = 1;    // residuals of one observation, never parted
  std::size_t stretches = 8;   // of the data, left out in turn
};

enum class Identified { yes, no_effect, like_another, no_gain, at_bound };

struct FittedParameter {
  double value = 0;
  double standard_error = 0;  // by leaving out stretches; 0 where it was not fitted
  Identified identified = Identified::yes;
  std::size_t like = 0;  // the free parameter whose effect is most like its own
  double refused = 0;    // no_gain, at_bound: what a fit makes of it
};

struct Fit {
  std::vector<FittedParameter> parameters;
  double sum_before = 0;  // weighted sums of squares
  double sum_after = 0;
  int evaluations = 0;
};

[[nodiscard]] Fit fit_least_squares(const std::vector<FitParameter>& parameters, const Residuals& residuals,
                                    const FitOptions& options = {});

}  // namespace blockyard::study
