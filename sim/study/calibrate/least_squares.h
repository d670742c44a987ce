// Bounded non-linear least squares for a handful of parameters of a model that is expensive and jitters, but tells the
// slopes of its residuals: Gauss and Newton's steps, cut at the bounds, parameters at a bound left out while the
// step goes outward. A step is kept if less is left that the free parameters could mend, were all linear, or if the sum
// falls by a good part of what was foretold: near the end it jitters too much to ask it. How much of what steps
// foretold came to pass scales the next ones, since slopes may leave out what feeds back on itself.
//
// Residuals come in kinds, each of the weight that its noise leaves it: what neighbours differ by (von Neumann, 1941)
// beside what the parameters could mend, so that what is off everywhere, or wherever a parameter matters, does not
// count as such. Beyond `outlier` they count linearly, so that a few that something else held up do not bend the fit
// (Nocedal & Wright, 2006, chapter 10; Huber, 1964).
//
// Parameters are freed one after the other, each time the one that foretells most; those that the data cannot tell keep
// their start:
//   no_effect     the residuals hardly change with it
//   no_gain       stretches of the data that a fit leaves out are foretold no better with it free than at its start,
//                 beside those that are free (sim/study/calibrate/worth.h)
//   like_another  no gain either, since what it does, those that are free can do nearly as well; of two alike the
//                 earlier one is freed
//   at_bound      the data ask for more than the bounds allow: something else is amiss, which it would only hide
//
// Law: the weighted sum of squares never ends above that of the start. Deterministic. Cost: a few evaluations for each
// parameter that is freed.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace blockyard::study {

struct FitParameter {
  double start = 0;
  double low = 0;
  double high = 0;
  double scale = 1;  // a change that matters
};

struct Evaluation {
  std::vector<double> residuals;
  std::vector<std::vector<double>> slopes;  // of each parameter: d residual / d value
};

using Model = std::function<Evaluation(const std::vector<double>& values)>;

struct FitOptions {
  int most_iterations = 30;
  double outlier = 0.3;
  double least_noise = 1e-4;   // no kind of residuals is known better
  double least_effect = 2e-3;  // rms change of the residuals for a change by `scale`, below which nothing is known
  double alike = 0.98;         // correlation of an effect with what others can do, above which it is like theirs
  std::size_t together = 1;    // residuals of one observation, one of each kind, never parted
  std::size_t stretches = 8;   // of the data, left out in turn
};

enum class Identified { yes, no_effect, like_another, no_gain, at_bound };

struct FittedParameter {
  double value = 0;
  double standard_error = 0;  // by leaving out stretches, those that are kept as like_another of it free beside it; 0
                              // where it was not fitted, infinite where nothing tells
  Identified identified = Identified::yes;
  std::size_t like = 0;  // the free parameter whose effect is most like its own
  double refused = 0;    // no_gain, at_bound: what a fit makes of it
};

struct Fit {
  std::vector<FittedParameter> parameters;
  double sum_before = 0;  // sums of squares, weighted as in the end
  double sum_after = 0;
  int evaluations = 0;
  bool settled = false;  // no further step would have been worth while
};

[[nodiscard]] Fit fit_least_squares(const std::vector<FitParameter>& parameters, const Model& model,
                                    const FitOptions& options = {});

}  // namespace blockyard::study
