#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "sim/report/figures.h"
#include "sim/report/text_table.h"
#include "sim/study/calibrate/calibrate.h"

namespace blockyard::study {
namespace {

using report::TextTable;

constexpr std::array<const char*, 8> kFigures{"ttft_mean", "ttft_p50", "ttft_p99", "tpot_mean",
                                              "tpot_p99",  "e2e_mean", "e2e_p99",  "e2e_per_request"};

std::string value_text(cost::ConstantKind kind, double value) {
  return kind == cost::ConstantKind::share ? fmt::format("{:.4f}", value) : fmt::format("{:.3f} us", 1e6 * value);
}

std::string verdict(const FittedConstant& c) {
  switch (c.fitted.identified) {
    case Identified::no_effect:
      return "not identified: these requests do not depend on it; kept";
    case Identified::like_another:
      return fmt::format("not identified: cannot be told apart from {}; kept", c.like);
    case Identified::yes:
      break;
  }
  return c.fitted.at_bound ? "at its bound" : "";
}

std::string error_text(const Validation& v, const std::string& name) {
  for (const SignedError& e : errors_of(v)) {
    if (e.name != name) continue;
    const double percent = 100 * e.share;
    return name.ends_with("_per_request") ? fmt::format("{:.1f} %", percent) : fmt::format("{:+.1f} %", percent);
  }
  return "-";
}

std::string error_words(const Validation& v) {
  return fmt::format("TTFT {}, TPOT {}, E2E {} (means)", error_text(v, "ttft_mean"), error_text(v, "tpot_mean"),
                     error_text(v, "e2e_mean"));
}

}  // namespace

std::string print_calibration(const Calibrated& c) {
  const metrics::Identity& identity = c.after.summary.identity;
  std::string text = fmt::format("{}: {} on {} x {}, fitted to {}\n\n", identity.scenario, identity.model,
                                 identity.gpus, identity.gpu, c.after.file.name);
  text += fmt::format("requests    {} fitted, the last {} held out; {} runs\n\n", report::count_text(c.fitted_requests),
                      report::count_text(c.held_out_requests), c.runs);
  TextTable constants;
  constants.add({"constant", "before", "after", "std. error", ""});
  for (const FittedConstant& f : c.constants) {
    const bool fitted = f.fitted.identified == Identified::yes;
    constants.add({f.name, value_text(f.kind, f.before), value_text(f.kind, f.fitted.value),
                   fitted ? value_text(f.kind, f.fitted.standard_error) : "-", verdict(f)});
  }
  text += constants.text() + '\n';
  TextTable errors;
  errors.add({"error", "held out: before", "after", "fitted: before", "after"});
  for (const char* figure : kFigures) {
    errors.add({figure, error_text(c.before, figure), error_text(c.after, figure), error_text(c.fitted_before, figure),
                error_text(c.fitted_after, figure)});
  }
  text += errors.text();
  text += "\nerror: simulated / measured - 1; e2e_per_request: mean of the absolute error of each request.\n";
  text +=
      "std. error: as if the errors of requests were independent, which is too small for requests that share steps.\n";
  return text;
}

std::string calibration_yaml(const Calibrated& c) {
  const metrics::Identity& identity = c.after.summary.identity;
  std::string file = c.after.file.name;
  std::ranges::replace(file, '"', '\'');
  std::string text = fmt::format(
      "# Constants fitted to a measured server by `blockyard calibrate`; a scenario takes them by cost.calibration.\n"
      "source: \"fitted to {} requests of {} on {} x {} ({})\"\n"
      "error: \"on {} requests held out: {}; before the fit: {}\"\n",
      c.fitted_requests, identity.model, identity.gpus, identity.gpu, file, c.held_out_requests, error_words(c.after),
      error_words(c.before));
  for (const FittedConstant& f : c.constants) {
    if (f.fitted.identified != Identified::yes) continue;
    text += f.kind == cost::ConstantKind::share ? fmt::format("{}: {:.5g}\n", f.name, f.fitted.value)
                                                : fmt::format("{}: {:.3f} us\n", f.name, 1e6 * f.fitted.value);
  }
  return text;
}

}  // namespace blockyard::study
