// blockyard validate: a measured server beside the simulated one.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>

#include "sim/base/diagnostics.h"
#include "sim/cli/commands.h"
#include "sim/cli/config_folder.h"
#include "sim/cli/interrupt.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/report/summary_json.h"
#include "sim/study/validate/validate.h"
#include "sim/study/validate/validation_report.h"

namespace blockyard::cli {
namespace {

struct Bound {
  std::string figure;
  double share = 0;
};

// "ttft_mean=10%".
Bound parse_bound(const std::string& text, Place place, Diagnostics& errors) {
  const std::size_t equals = text.find('=');
  double value = -1;
  if (equals != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + equals + 1, end, value);
    const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
    if (error != std::errc() || (unit != "%" && unit != " %") || !std::isfinite(value)) value = -1;
    value /= 100;
  }
  if (equals == 0 || equals == std::string::npos || value < 0)
    errors.add(std::move(place),
               fmt::format("--fail-above: expected FIGURE=PERCENT such as ttft_mean=10%, found \"{}\"", text));
  return {text.substr(0, equals), value};
}

// Each text is one bound or several with commas between them. Bounds on times are worth nothing where few requests are
// served: of those that are not there is always one.
std::vector<Bound> parse_bounds(const Options& options, Diagnostics& errors) {
  constexpr double kMostNotServed = 0.01;
  std::vector<Bound> bounds;
  for (const std::string& text : options.values_of("fail-above")) {
    for (std::size_t start = 0; start <= text.size();) {
      const std::size_t end = std::min(text.find(',', start), text.size());
      bounds.push_back(parse_bound(text.substr(start, end - start), options.place(), errors));
      start = end + 1;
    }
  }
  if (!bounds.empty() && std::ranges::find(bounds, study::kNotServed, &Bound::figure) == bounds.end())
    bounds.push_back({study::kNotServed, kMostNotServed});
  return bounds;
}

// How many of the bounds are broken; each is told, and so are those that hold.
int broken(const std::vector<Bound>& bounds, const study::Validation& validation, std::ostream& err) {
  const std::vector<study::SignedError> errors = study::errors_of(validation);
  const std::vector<std::string> zero = study::measured_as_zero(validation);
  int count = 0;
  std::vector<std::string> kept;
  for (const Bound& bound : bounds) {
    const auto found = std::ranges::find(errors, bound.figure, &study::SignedError::name);
    if (found == errors.end()) {
      // Measured, but as 0 or of no request that the simulation finished.
      err << fmt::format("blockyard validate: {} cannot be told: {}\n", bound.figure,
                         std::ranges::find(zero, bound.figure) == zero.end()
                             ? "no request has it on both sides"
                             : "its measured time is 0, which has no relative error");
      ++count;
      continue;
    }
    if (std::abs(found->share) <= bound.share) {
      kept.push_back(
          fmt::format("{} {:+.2f} % (at most {:.4g} %)", bound.figure, 100 * found->share, 100 * bound.share));
      continue;
    }
    if (bound.figure == study::kNotServed) {
      err << fmt::format(
          "blockyard validate: {:.2f} % of the requests are not served in the simulation, or not whole, "
          "more than {:.4g} %: not_served\n",
          100 * found->share, 100 * bound.share);
    } else {
      err << fmt::format("blockyard validate: {} is {:+.2f} % off, more than {:.4g} %\n", bound.figure,
                         100 * found->share, 100 * bound.share);
    }
    ++count;
  }
  if (!kept.empty()) err << fmt::format("blockyard validate: within bounds: {}\n", fmt::join(kept, ", "));
  return count;
}

// No simulation is off by so much in every mean, and by no other factor.
bool looks_like_milliseconds(const std::vector<study::SignedError>& errors) {
  constexpr double kFactor = 200;
  bool any = false;
  for (const study::SignedError& error : errors) {
    if (!error.name.ends_with("_mean")) continue;
    if ((1 + error.share) * kFactor > 1) return false;
    any = true;
  }
  return any;
}

// What no simulation would mend is said before it.
void check(const std::vector<Bound>& bounds, const study::ValidateOptions& how, const study::MeasuredRun& run,
           const Options& options) {
  const std::vector<std::string> names = study::figure_names(run, how.leave_out_first == 0);
  if (names.empty())
    throw InputError(Place{run.file.name}, "no request has a measured time: there is nothing to compare");
  Diagnostics errors;
  if (how.leave_out_first >= static_cast<std::int64_t>(run.requests.size())) {
    errors.add(options.place(), fmt::format("--leave-out-first: {} of {} requests leave nothing to compare",
                                            how.leave_out_first, run.requests.size()));
  }
  for (const Bound& bound : bounds) {
    if (std::ranges::find(names, bound.figure) != names.end()) continue;
    errors.add(options.place(), fmt::format("--fail-above: no figure \"{}\"{} (figures: {})", bound.figure,
                                            did_you_mean(bound.figure, names), fmt::join(names, ", ")));
  }
  errors.throw_if_any();
}

}  // namespace

ExitStatus validate(const Arguments& arguments, Streams streams) {
  Options options("blockyard validate", "lay a simulated server beside a measured one");
  options.words("SCENARIO", 1, 1, "the engine as it was run; arrivals and lengths are taken from the measured file");
  options.value("measured", "FILE",
                "a CSV (columns below), the result of vllm bench serve, or LLMServingSim's request log");
  options.values("set", "KEY=VALUE", "set a key of the scenario; wins over the file");
  options.values("fail-above", "FIGURE=PERCENT", "exit with 1 if this error is larger, e.g. ttft_mean=10%,e2e_p99=20%");
  options.value("leave-out-first", "N", "the first N requests are simulated and not compared: a server warms up");
  options.flag("json", "print the comparison as JSON, and nothing else, to standard output");
  options.epilogue(
      "Columns of a CSV, by name, in seconds; an empty time is one that was not measured:\n"
      "  arrival_s, prompt_tokens, output_tokens, and ttft_s or e2e_s; all else may be missing\n"
      "  arrival_measured_s         goes before arrival_s, which then is when it was planned\n"
      "  tpot_s                     else, and where it contradicts them, (e2e_s - ttft_s) / (output_tokens - 1)\n"
      "  error                      the request failed, unless empty, 0, false, none, null or nan: it is left out\n"
      "  prompt_id                  prompts of one id are equal\n"
      "  prefix_id, prefix_tokens   prompts of one id begin with the same so many tokens\n"
      "  request_id                 in X.csv and in X.blocks.csv beside it, whose block_ids name the prompt's blocks\n"
      "                             of 16 tokens, separated by spaces; goes before the three above\n"
      "Figures of --fail-above, as far as they were measured:\n"
      "  ttft, tpot, itl, e2e, each with _mean, _p50, _p90, _p99 and, but for itl, _per_request: the mean of the\n"
      "  requests' absolute errors; with e2e_s of every request makespan, requests_per_s, output_tokens_per_s;\n"
      "  not_served: of the measured requests those that the simulation does not serve, or not whole (beside any\n"
      "  other bound 1%, unless given)");
  if (!options.parse(arguments, streams)) return ExitStatus::done;

  const auto file = options.value_of("measured");
  Diagnostics wrong;
  if (!file) wrong.add(options.place(), "--measured is missing: which requests shall it be compared with?");
  const std::vector<Bound> bounds = parse_bounds(options, wrong);
  study::ValidateOptions how;
  how.leave_out_first = options.count_of("leave-out-first", wrong);
  wrong.throw_if_any();

  const std::filesystem::path configs = config_folder();
  const scenario::Document scenario = study::load_engine(options.words().front(), configs, options.values_of("set"));
  const study::MeasuredRun run = study::read_measured(*file);
  check(bounds, how, run, options);
  const Interrupt interrupt;
  const study::Validation validation = [&] {
    Progress progress(streams);
    how.go_on = [&](const serving::RunProgress& now, std::optional<std::int64_t> expected) {
      progress.update({now.now, now.finished, expected});
      return !interrupt.raised();
    };
    return study::validate(scenario, configs, run, how);
  }();

  if (options.has("json")) {
    streams.out << report::json_text(study::validation_json(validation));
  } else {
    streams.out << study::print_validation(validation);
  }
  if (looks_like_milliseconds(study::errors_of(validation))) {
    streams.err << fmt::format(
        "warning: {}: every measured time is hundreds of times the simulated one; these look like milliseconds, and "
        "seconds are expected\n",
        *file);
  }
  if (validation.summary.interrupted) {
    streams.err << "blockyard validate: interrupted: every figure is of what was done by then\n";
    return ExitStatus::interrupted;
  }
  if (!validation.summary.stuck.empty()) {
    streams.err << "blockyard validate: stopped: " << validation.summary.stuck << '\n';
    return ExitStatus::run_failed;
  }
  return broken(bounds, validation, streams.err) == 0 ? ExitStatus::done : ExitStatus::run_failed;
}

}  // namespace blockyard::cli
