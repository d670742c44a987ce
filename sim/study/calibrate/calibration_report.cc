#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/figures.h"
#include "sim/report/text_table.h"
#include "sim/study/calibrate/calibrate.h"
#include "sim/study/validate/validation_report.h"

namespace blockyard::study {
namespace {

using report::TextTable;

constexpr std::size_t kWidth = 120;  // columns of a screen

constexpr std::array<const char*, 8> kFigures{"ttft_mean", "ttft_p50", "ttft_p99", "tpot_mean",
                                              "tpot_p99",  "e2e_mean", "e2e_p99",  "e2e_per_request"};

std::string value_text(cost::ConstantKind kind, double value) {
  return kind == cost::ConstantKind::share ? fmt::format("{:.4f}", value) : report::time_text(value);
}

// Why a constant is kept as it was.
std::string reason(const FittedConstant& c) {
  const std::string refused = value_text(c.kind, c.fitted.refused);
  switch (c.fitted.identified) {
    case Identified::no_effect:
      return "these requests do not depend on it";
    case Identified::like_another:
      return fmt::format("cannot be told apart from {}", c.like);
    case Identified::no_gain:
      return fmt::format("does as well as what a fit makes of it, {}", refused);
    case Identified::at_bound:
      return fmt::format("the fit runs into its bound, {}", refused);
    case Identified::yes:
      break;
  }
  return "";
}

void add_constants(const Calibrated& c, std::string& text) {
  TextTable fitted;
  TextTable kept(3);
  fitted.add({"constant", "before", "after", "std. error"});
  bool any_fitted = false;
  bool any_kept = false;
  for (const FittedConstant& f : c.constants) {
    if (f.fitted.identified == Identified::yes) {
      any_fitted = true;
      fitted.add({f.name, value_text(f.kind, f.before), value_text(f.kind, f.fitted.value),
                  std::isfinite(f.fitted.standard_error) ? value_text(f.kind, f.fitted.standard_error) : "unknown"});
    } else {
      any_kept = true;
      kept.add({"  " + f.name, value_text(f.kind, f.before), reason(f)});
    }
  }
  text += any_fitted ? fitted.text() : "no constant is told by these requests: nothing is fitted\n";
  if (any_kept) text += "kept as they were:\n" + kept.text();
  text += '\n';
}

std::string error_text(const Validation& v, const std::string& name) {
  for (const SignedError& e : errors_of(v)) {
    if (e.name != name) continue;
    constexpr double kMostPercent = 10;
    return name.ends_with("_per_request") && e.share < kMostPercent ? fmt::format("{:.1f} %", 100 * e.share)
                                                                    : report::error_text(e.share);
  }
  return "-";
}

// Of each request's last token, or of what else was measured.
double error_of_requests(const Validation& v) {
  for (const char* figure : {"e2e_per_request", "ttft_per_request", "tpot_per_request"}) {
    for (const SignedError& e : errors_of(v)) {
      if (e.name == figure) return e.share;
    }
  }
  return 0;
}

// A figure that the fit moves further away by this much is told; the few requests beyond a percentile jump by more.
constexpr double kWorse = 0.02;
constexpr double kWorsePercentile = 0.05;

void add_worse(const Validation& before, const Validation& after, const char* part, std::vector<std::string>& worse) {
  const std::vector<SignedError> errors = errors_of(before);
  for (const SignedError& now : errors_of(after)) {
    const auto then = std::ranges::find(errors, now.name, &SignedError::name);
    const double least =
        now.name.find("_p") == std::string::npos || now.name.ends_with("_per_request") ? kWorse : kWorsePercentile;
    if (then == errors.end() || std::abs(now.share) < std::abs(then->share) + least) continue;
    worse.push_back(
        fmt::format("{} ({}) {} -> {}", now.name, part, error_text(before, now.name), error_text(after, now.name)));
  }
}

std::string constant_yaml(std::string_view name, cost::ConstantKind kind, double value) {
  return kind == cost::ConstantKind::share ? fmt::format("{}: {:.5g}\n", name, value)
                                           : fmt::format("{}: {:.3f} us\n", name, 1e6 * value);
}

std::string error_words(const Validation& v) {
  return fmt::format("TTFT {}, TPOT {}, E2E {} (means)", error_text(v, "ttft_mean"), error_text(v, "tpot_mean"),
                     error_text(v, "e2e_mean"));
}

}  // namespace

bool anything_told(const Calibrated& c) {
  return std::ranges::any_of(c.constants,
                             [](const FittedConstant& f) { return f.fitted.identified == Identified::yes; });
}

std::string print_calibration(const Calibrated& c) {
  const metrics::Identity& identity = c.after.summary.identity;
  std::string text = fmt::format("{}: {} on {} x {}, fitted to {}\n\n", identity.scenario, identity.model,
                                 identity.gpus, identity.gpu, c.after.file.name);
  text += fmt::format("requests    {} fitted, the last {} held out; {} runs\n", report::count_text(c.fitted_requests),
                      report::count_text(c.held_out_requests), c.runs);
  text += print_not_served(c.after) + print_measured_file(c.after.file) + '\n';
  add_constants(c, text);
  for (const FittedConstant& f : c.constants) {
    if (f.kind == cost::ConstantKind::share && f.fitted.value > 1 && f.before <= 1)
      text += fmt::format("{} is more than the peak: it stands for something else\n\n", f.name);
  }
  TextTable errors;
  errors.add({"error", "held out: before", "after", "fitted: before", "after"});
  for (const char* figure : kFigures) {
    errors.add({figure, error_text(c.before, figure), error_text(c.after, figure), error_text(c.fitted_before, figure),
                error_text(c.fitted_after, figure)});
  }
  text += errors.text();
  text += "\nerror: simulated / measured - 1; e2e_per_request: mean of the absolute error of each request.\n";
  if (!c.settled) {
    text +=
        "the fit has not settled: these requests could tell more, and no step from where it ended helped; judge it by "
        "the\n  errors above.\n";
  }
  if (error_of_requests(c.after) > error_of_requests(c.before))
    text += "the held-out requests are further off with the fit than without it: better not use it.\n";
  std::vector<std::string> worse;
  add_worse(c.before, c.after, "held out", worse);
  add_worse(c.fitted_before, c.fitted_after, "fitted", worse);
  if (!worse.empty()) {
    text += report::wrapped(
        "", fmt::format("worse with the fit: {}: what was fitted may stand for something else", fmt::join(worse, ", ")),
        kWidth, "  ");
  }
  text +=
      "std. error: by leaving out each eighth of the fitted requests in turn, with what cannot be told apart from it "
      "free;\n  as far as the others that were kept are right.\n";
  return text;
}

std::string calibration_yaml(const Calibrated& c) {
  const metrics::Identity& identity = c.after.summary.identity;
  std::string file = c.after.file.name;
  std::ranges::replace(file, '"', '\'');
  std::string text = fmt::format(
      "# Constants fitted to a measured server by `blockyard calibrate`; a scenario takes them by cost.calibration.\n"
      "source: \"fitted to {} requests of {} on {} x {} ({})\"\n"
      "error: \"on {} requests held out: {}; before the fit: {}\"\n"
      "model: \"{}\"\ngpu: \"{}\"\ngpus: {}\n",
      c.fitted_requests, identity.model, identity.gpus, identity.gpu, file, c.held_out_requests, error_words(c.after),
      error_words(c.before), identity.model, identity.gpu, identity.gpus);
  for (const FittedConstant& f : c.constants) {
    if (f.fitted.identified == Identified::yes) {
      text += constant_yaml(f.name, f.kind, f.fitted.value);
    } else {
      text += fmt::format("# {} is kept: {}\n", f.name, reason(f));
    }
  }
  if (!c.given.empty()) text += "# What the fit rests on beside the GPU's own constants, as the scenario had it.\n";
  for (const GivenConstant& g : c.given) text += constant_yaml(g.name, g.kind, g.value);
  return text;
}

}  // namespace blockyard::study
