// What each fitted parameter is worth on data that it was not fitted to. Around the optimum the residuals are taken as
// linear, so that all refits are arithmetic and no residual is evaluated again. The residuals are parted into stretches
// that follow one another. For each stretch the parameters are fitted to the others, once with all of them free and
// once with the parameter in question held at its start; both foretell the stretch.
//
// The gain is how much less the sum of squares over a stretch is with the parameter free. A parameter holds if its mean
// gain is above 0, it is 1.5 standard errors from its start, and if these are 3.5, or if, of all residuals or of one
// kind of them, (1) the sum falls by more than a hundredth in most stretches, and (2) the mean gain is more than twice
// its standard error or, where few stretches have most of it, as large as an F-test asks at two standard errors, each
// stretch taken as one observation. Kinds are looked at by themselves since what mends one kind hardly shows beside
// what is wrong with another.
//
// The standard error of a parameter is the jackknife's over the stretches (Quenouille, 1956; Tukey, 1958): residuals
// that follow one another are alike, so that formulas for independent ones are far too sure.
//
// Whole stretches are left out, since neighbours share the same steps (block cross-validation: Burman, Chow and Nolan,
// Biometrika 1994). Cost: stretches x (parameters + 1) systems of as many unknowns as parameters.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/study/calibrate/normal_equations.h"

namespace blockyard::study {

struct Worth {
  bool holds = false;
  double gain = 0;            // mean over the stretches; minus infinity where a stretch alone tells the parameter
  double estimate = 0;        // change of the parameter that fits all stretches best
  double standard_error = 0;  // infinite where a stretch alone tells the parameter
};

struct LinearisedFit {
  std::vector<Vector> columns;  // d residual / d parameter, at the optimum
  Vector residuals;
  Vector to_start;            // start - optimum of each parameter
  std::size_t together = 1;   // residuals of one observation, of so many kinds in turn; never parted
  std::size_t stretches = 8;  // fewer where there are fewer groups of residuals
};

// Of each parameter but those `held` at their start.
[[nodiscard]] std::vector<Worth> worth_of(const LinearisedFit& fit, const std::vector<bool>& held);

}  // namespace blockyard::study
