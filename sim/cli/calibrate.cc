// blockyard calibrate: constants of the cost model fitted to a measured server.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <ostream>
#include <string_view>

#include "sim/base/diagnostics.h"
#include "sim/base/pending_file.h"
#include "sim/cli/commands.h"
#include "sim/cli/config_folder.h"
#include "sim/cli/interrupt.h"
#include "sim/cli/options.h"
#include "sim/cli/out_folder.h"
#include "sim/serving/hardware.h"
#include "sim/serving/names.h"
#include "sim/study/calibrate/calibrate.h"
#include "sim/study/validate/simulated_engine.h"

namespace blockyard::cli {
namespace {

// What is fitted unless --fit says otherwise. A front end shows in times that clients measured; in the engine's own it
// would only stand for something else that is amiss, and the scenario says which they are.
std::string usual_constants(const scenario::Document& scenario) {
  return scenario.is_word("cost.front_end", "none") ? "efficiency,host_time" : "efficiency,host_time,front_end";
}

std::vector<std::string> constants_of(const std::string& text, const Place& place, Diagnostics& errors) {
  std::vector<std::string> fit;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string name = text.substr(at, comma - at);
    const std::vector<std::string> constants = study::constants_named(name);
    if (constants.empty()) {
      const std::vector<std::string> names = study::constant_names();
      errors.add(place, fmt::format("--fit: no constant \"{}\"{} (constants: {})", name, did_you_mean(name, names),
                                    fmt::join(names, ", ")));
    }
    for (const std::string& constant : constants) {
      const bool there = std::ranges::find(fit, constant) != fit.end();
      if (there && constants.size() == 1) errors.add(place, fmt::format("--fit: {} is named twice", constant));
      if (!there) fit.push_back(constant);  // of a group what is not there yet
    }
    at = comma + 1;
  }
  return fit;
}

// Of the requests: "0.3" or "30%".
double share_of(const Options& options, const std::string& name, double fallback, double high, Diagnostics& errors) {
  const auto text = options.value_of(name);
  if (!text) return fallback;
  double number = -1;
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  const char* const last = text->data() + text->size();
  if (error == std::errc() && std::string_view(end, last) == "%") {
    number /= 100;
    end = last;
  }
  if (error != std::errc() || end != last || !(number > 0 && number <= high))
    errors.add(options.place(),
               fmt::format("--{}: expected a share above 0 and up to {}, found \"{}\"", name, high, *text));
  return number;
}

}  // namespace

ExitStatus calibrate(const Arguments& arguments, Streams streams) {
  Options options("blockyard calibrate", "fit constants of the cost model to a measured server");
  options.words("SCENARIO", 1, 1, "the engine as it was run; arrivals and lengths are taken from the measured file");
  options.value("measured", "FILE", "measured requests, as for `validate`");
  options.value(
      "fit", "A,B,...",
      "constants to fit, or groups of them (efficiency, attention, overhead, host, all), the surest first (default: "
      "efficiency,host_time, and front_end unless cost.front_end is none)");
  options.value("holdout", "SHARE",
                "share of the requests, from the end, that only judge (above 0, up to 0.9; default: 0.3, or 30%)");
  options.value("leave-out-first", "N", "the first N requests are simulated and neither fitted nor judged");
  options.values("set", "KEY=VALUE", "set a key of the scenario; wins over the file");
  options.value("out", "FILE", "the YAML for cost.calibration (default: SCENARIO's name with .calibration.yaml, here)");
  if (!options.parse(arguments, streams)) return ExitStatus::done;

  const auto file = options.value_of("measured");
  Diagnostics wrong;
  if (!file) wrong.add(options.place(), "--measured is missing: which requests shall be fitted?");
  const std::filesystem::path scenario_file = options.words().front();
  const std::string out = options.value_of("out").value_or(scenario_file.stem().string() + ".calibration.yaml");
  study::CalibrateOptions how;
  if (const auto fit = options.value_of("fit")) how.fit = constants_of(*fit, options.place(), wrong);
  how.holdout = share_of(options, "holdout", 0.3, 0.9, wrong);
  how.leave_out_first = options.count_of("leave-out-first", wrong);
  wrong.throw_if_any();

  const std::filesystem::path configs = config_folder();
  const scenario::Document scenario = study::load_engine(scenario_file, configs, options.values_of("set"));
  if (how.fit.empty()) how.fit = constants_of(usual_constants(scenario), options.place(), wrong);
  Paths inputs = inputs_of(scenario_file, scenario);
  inputs.emplace_back(*file);
  refuse_inputs("--out", {out}, inputs);
  const study::MeasuredRun run = study::read_measured(*file);
  PendingFile yaml(out);  // a place that cannot be written to is said before the fit
  const Interrupt interrupt;
  how.go_on = [&, shown = -1](int runs) mutable {
    if (streams.err_is_terminal && runs != shown) streams.err << fmt::format("\r{} runs", runs) << std::flush;
    shown = runs;
    return !interrupt.raised();
  };
  const study::Calibrated calibrated = study::calibrate(scenario, configs, run, how);
  if (streams.err_is_terminal) streams.err << '\r';
  if (calibrated.interrupted) {
    streams.err << "blockyard calibrate: interrupted: nothing is written\n";
    return ExitStatus::interrupted;
  }
  streams.out << study::print_calibration(calibrated);
  if (!options.has("fit") && scenario.is_word("cost.front_end", "none"))
    streams.out
        << "front_end is not fitted, since cost.front_end is none: --fit efficiency,host_time,front_end if clients "
           "took the times.\n";
  if (!study::anything_told(calibrated)) {
    streams.out << fmt::format("\n{} is not written: it would say nothing{}\n", out,
                               std::filesystem::exists(out) ? "; the one that is there is older" : "");
    return ExitStatus::run_failed;
  }
  fmt::format_to(std::back_inserter(yaml.buffer()), "{}", study::calibration_yaml(calibrated));
  yaml.close();
  yaml.commit();
  streams.out << fmt::format("\nwritten to {}; a scenario takes it by `cost: {{calibration: {}}}`\n", out, out);
  for (const study::FittedConstant& constant : calibrated.constants) {
    const bool fitted = constant.fitted.identified == study::Identified::yes;
    if (fitted && serving::overrules_calibration(scenario, constant.name))
      streams.out << fmt::format("cost.{} of the scenario goes before the file: take it out there\n", constant.name);
  }
  return ExitStatus::done;
}

}  // namespace blockyard::cli
