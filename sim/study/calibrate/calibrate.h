// Constants of the cost model fitted to a measured server. The requests are parted by arrival: the first ones are
// fitted, the last ones, the held-out part, only judge. Every trial simulates the whole run and tells how the times
// answer to each constant (time_slopes.h). Fitted are the logarithms of simulated over measured TTFT, TPOT and E2E, as
// far as they were measured, so that noise that is as often too long as too short by the same factor moves nothing;
// each is the mean over a few requests that came one after the other. A constant that these requests cannot tell keeps
// its value and is not written; least_squares.h has the rule, and within the fitted part alone: the held-out part
// decides nothing. Cost: mostly seven to forty runs, whatever the number of constants, in which a step is timed once
// for each.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sim/cost/constants.h"
#include "sim/scenario/document.h"
#include "sim/study/calibrate/least_squares.h"
#include "sim/study/validate/validate.h"

namespace blockyard::study {

// Names that stand for several constants: "efficiency", "attention", "overhead", "host", "all".
[[nodiscard]] std::vector<std::string> constants_named(const std::string& name);  // empty: no such name
[[nodiscard]] std::vector<std::string> constant_names();                          // all that --fit takes

struct CalibrateOptions {
  std::vector<std::string>
      fit;               // constants, in order of importance: of two that cannot be told apart the first is fitted
  double holdout = 0.3;  // share of the requests, from the end
  std::int64_t leave_out_first = 0;
  std::function<bool(int runs)> go_on;  // asked before each run and now and then in it; false ends with nothing
};

struct FittedConstant {
  std::string name;
  cost::ConstantKind kind = cost::ConstantKind::share;
  double before = 0;
  FittedParameter fitted;
  std::string like;  // the one it cannot be told apart from
};

// One that the scenario, or a calibration it names, has otherwise than the GPU's entry, and that was not fitted.
struct GivenConstant {
  std::string name;
  cost::ConstantKind kind = cost::ConstantKind::share;
  double value = 0;
};

struct Calibrated {
  std::vector<FittedConstant> constants;
  std::vector<GivenConstant> given;
  cost::Constants result;
  std::int64_t fitted_requests = 0;
  std::int64_t held_out_requests = 0;
  int runs = 0;
  bool interrupted = false;
  bool settled = false;  // else the fit ended on its way
  Validation before;     // on the held-out part
  Validation after;
  Validation fitted_before;  // on the fitted part
  Validation fitted_after;
};

// Throws InputError for what has no constants to fit and for data too few to part. The names are constant_names().
[[nodiscard]] Calibrated calibrate(const scenario::Document& scenario, const std::filesystem::path& configs,
                                   const MeasuredRun& run, const CalibrateOptions& options);

// Whether any constant is fitted; else there is nothing to write.
[[nodiscard]] bool anything_told(const Calibrated& calibrated);
[[nodiscard]] std::string print_calibration(const Calibrated& calibrated);
// The YAML that `cost.calibration` takes: what was fitted, and what else the fit rests on.
[[nodiscard]] std::string calibration_yaml(const Calibrated& calibrated);

}  // namespace blockyard::study
