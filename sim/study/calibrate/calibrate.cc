#include "sim/study/calibrate/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "sim/base/diagnostics.h"
#include "sim/serving/assemble.h"

namespace blockyard::study {
namespace {

struct Group {
  std::string_view name;
  std::vector<std::string> members;
};

std::vector<std::string> every_constant() {
  std::vector<std::string> names;
  for (const cost::ConstantDoc& doc : cost::constant_docs()) names.emplace_back(doc.name);
  return names;
}

const std::array<Group, 5>& groups() {
  static const std::array<Group, 5> table{{{"efficiency", {"memory_efficiency", "compute_efficiency"}},
                                           {"attention", {"decode_memory_efficiency", "prefill_compute_efficiency"}},
                                           {"overhead", {"kernel_overhead", "host_time"}},
                                           {"host", {"host_time", "host_sequence", "host_rank"}},
                                           {"all", every_constant()}}};
  return table;
}

const cost::ConstantDoc& doc_of(const std::string& name) {
  const auto docs = cost::constant_docs();
  const auto found = std::ranges::find(docs, name, &cost::ConstantDoc::name);
  CHECK_LAW(found != docs.end(), "no constant {}", name);
  return *found;
}

struct Interrupted {};

constexpr std::size_t kTimes = 3;  // TTFT, TPOT and E2E of each group of requests
using Weights = std::array<double, kTimes>;

// How sure each of the three times is beside the surest: the inverse of its noise. Whether a request just meets a step
// or misses it is a matter of chance, on the server as in the simulation, and its TTFT may be a step more or less.
// Noise is what neighbours differ by (von Neumann, 1941), so that what is off everywhere does not count as such.
Weights weights_of(const std::vector<double>& errors) {
  constexpr double kLeast = 5e-3;  // no time is known better
  Weights noise{};
  for (std::size_t k = 0; k < kTimes; ++k) {
    double sum = 0;
    std::size_t pairs = 0;
    for (std::size_t i = k; i + kTimes < errors.size(); i += kTimes, ++pairs)
      sum += (errors[i + kTimes] - errors[i]) * (errors[i + kTimes] - errors[i]);
    noise[k] = std::max(kLeast, pairs > 0 ? std::sqrt(sum / 2 / static_cast<double>(pairs)) : 0);
  }
  const double surest = std::ranges::min(noise);
  Weights weights{};
  for (std::size_t k = 0; k < kTimes; ++k) weights[k] = surest / noise[k];
  return weights;
}

class Trials {
 public:
  Trials(const scenario::Document& scenario, const std::filesystem::path& configs, const MeasuredRun& run,
         const CalibrateOptions& options, const cost::Constants& start)
      : scenario_(&scenario),
        configs_(&configs),
        run_(&run),
        options_(&options),
        requests_(requests_of(run)),
        constants_(start) {}

  [[nodiscard]] cost::Constants with(const std::vector<double>& values) const {
    cost::Constants constants = constants_;
    for (std::size_t i = 0; i < values.size(); ++i) doc_of(options_->fit[i]).of(constants) = values[i];
    return constants;
  }

  // Relative errors of the times of requests [first, last), group by group. One that was turned away has no time: it
  // counts as one that took twice as long.
  std::vector<double> residuals(const std::vector<double>& values, std::size_t first, std::size_t last) {
    const serving::RunResult result = run(with(values));
    constexpr std::size_t kGroups = 60;
    constexpr std::size_t kFewestInAGroup = 5;
    const std::size_t size = std::max(kFewestInAGroup, (last - first) / kGroups);
    std::vector<double> errors;
    for (std::size_t begin = first; begin < last; begin += size) {
      add_group(result.collector.records(), begin, std::min(last, begin + size), errors);
    }
    return errors;
  }
  [[nodiscard]] int runs() const { return runs_; }

  // One run, judged on both parts of the requests.
  struct Judged {
    Validation fitted;
    Validation held_out;
  };
  Judged judge(const cost::Constants& constants, std::int64_t first, std::int64_t part) {
    const serving::RunResult result = run(constants);
    ValidateOptions fitted;
    fitted.first = first;
    fitted.last = part;
    ValidateOptions held_out;
    held_out.first = part;
    return {compare_with_measured(*run_, result, fitted), compare_with_measured(*run_, result, held_out)};
  }

 private:
  serving::RunResult run(const cost::Constants& constants) {
    const auto go_on = [this] { return !options_->go_on || options_->go_on(runs_); };
    if (!go_on()) throw Interrupted{};
    ++runs_;
    serving::RunResult result =
        serving::run(*scenario_, *configs_,
                     {.go_on = [&](const serving::RunProgress&, std::optional<std::int64_t>) { return go_on(); },
                      .constants = &constants,
                      .requests = &requests_});
    if (result.summary.interrupted) throw Interrupted{};
    return result;
  }

  struct Mean {
    double sum = 0;
    int count = 0;
    void add(double measured, SimTime simulated, bool served, std::int64_t parts = 1) {
      if (!(measured > 0)) return;
      const double time = static_cast<double>(simulated.count()) / static_cast<double>(parts);
      sum += served ? time / measured - 1 : 1;
      ++count;
    }
  };

  void add_group(const std::vector<metrics::RequestRecord>& records, std::size_t begin, std::size_t end,
                 std::vector<double>& errors) const {
    Mean ttft;
    Mean tpot;
    Mean e2e;
    for (std::size_t i = begin; i < end; ++i) {
      const MeasuredRequest& m = run_->requests[i];
      const metrics::RequestRecord& s = records.at(i);
      const bool served = s.outcome == metrics::Outcome::finished;
      if (m.ttft) ttft.add(static_cast<double>(m.ttft->count()), s.first_token - s.arrival, served);
      if (m.tpot_ns) tpot.add(*m.tpot_ns, s.ended - s.first_token, served, m.output_tokens.count() - 1);
      if (m.e2e) e2e.add(static_cast<double>(m.e2e->count()), s.ended - s.arrival, served);
    }
    for (const Mean& mean : {ttft, tpot, e2e}) errors.push_back(mean.count > 0 ? mean.sum / mean.count : 0);
  }

  const scenario::Document* scenario_;
  const std::filesystem::path* configs_;
  const MeasuredRun* run_;
  const CalibrateOptions* options_;
  serving::RequestsOverride requests_;
  cost::Constants constants_;
  int runs_ = 0;
};

// Times are linear in a time, and in the inverse of a share of a peak: so the fit has it.
double fit_value(cost::ConstantKind kind, double constant) {
  return kind == cost::ConstantKind::share ? 1 / constant : constant;
}

FitParameter parameter_of(const cost::ConstantDoc& doc, double start) {
  const double lowest = fit_value(doc.kind, std::min(doc.low, start));
  const double highest = fit_value(doc.kind, std::max(doc.high, start));
  FitParameter p;
  p.low = std::min(lowest, highest);
  p.high = std::max(lowest, highest);
  p.start = fit_value(doc.kind, start);
  p.scale = doc.kind == cost::ConstantKind::share ? p.start : std::max(start, doc.high / 10);
  return p;
}

// What was found, as the constant itself.
FittedParameter as_constant(cost::ConstantKind kind, FittedParameter p) {
  if (kind != cost::ConstantKind::share) return p;
  p.value = 1 / p.value;
  p.standard_error *= p.value * p.value;
  if (p.refused > 0) p.refused = 1 / p.refused;
  return p;
}

}  // namespace

std::vector<std::string> constant_names() {
  std::vector<std::string> names;
  for (const Group& group : groups()) names.emplace_back(group.name);
  for (const cost::ConstantDoc& doc : cost::constant_docs()) names.emplace_back(doc.name);
  return names;
}

std::vector<std::string> constants_named(const std::string& name) {
  for (const Group& group : groups()) {
    if (group.name == name) return group.members;
  }
  for (const cost::ConstantDoc& doc : cost::constant_docs()) {
    if (doc.name == name) return {name};
  }
  return {};
}

Calibrated calibrate(const scenario::Document& scenario, const std::filesystem::path& configs, const MeasuredRun& run,
                     const CalibrateOptions& options) {
  if (scenario.choice("cost.model") != "roofline")
    throw InputError(scenario.place("cost.model"), "cost.model: only the roofline has constants to fit");
  const auto all = static_cast<std::int64_t>(run.requests.size());
  const std::int64_t first = std::min(options.leave_out_first, all);
  const std::int64_t part = all - std::llround(options.holdout * static_cast<double>(all - first));
  constexpr std::int64_t kFewest = 10;
  if (part - first < kFewest || all - part < kFewest)
    throw InputError(Place{run.file.name}, fmt::format("{} requests to fit and {} held out; both need {} or more",
                                                       part - first, all - part, kFewest));

  const serving::RequestsOverride requests = requests_of(run);
  Calibrated c;
  const cost::Constants start = serving::assemble(scenario, configs, &requests).constants;
  c.result = start;
  Trials trials(scenario, configs, run, options, start);
  std::vector<FitParameter> parameters;
  for (const std::string& name : options.fit) {
    cost::Constants at = start;
    parameters.push_back(parameter_of(doc_of(name), doc_of(name).of(at)));
  }
  try {
    std::optional<Weights> weights;
    const auto residuals = [&](const std::vector<double>& v) {
      std::vector<double> constants;
      constants.reserve(v.size());
      for (std::size_t i = 0; i < v.size(); ++i) constants.push_back(fit_value(doc_of(options.fit[i]).kind, v[i]));
      std::vector<double> r =
          trials.residuals(constants, static_cast<std::size_t>(first), static_cast<std::size_t>(part));
      if (!weights) weights = weights_of(r);
      for (std::size_t i = 0; i < r.size(); ++i) r[i] *= (*weights)[i % kTimes];
      return r;
    };
    const Fit fit = fit_least_squares(parameters, residuals, {.together = kTimes});
    std::vector<double> values;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const cost::ConstantDoc& doc = doc_of(options.fit[i]);
      cost::Constants before = start;
      const FittedParameter& found = fit.parameters[i];
      FittedConstant constant{options.fit[i], doc.kind, doc.of(before), as_constant(doc.kind, found), ""};
      if (found.identified == Identified::like_another) constant.like = options.fit[found.like];
      if (found.identified != Identified::yes) constant.fitted.value = constant.before;  // to the last bit
      values.push_back(constant.fitted.value);
      c.constants.push_back(std::move(constant));
    }
    c.result = trials.with(values);
    c.fitted_requests = part - first;
    c.held_out_requests = all - part;
    Trials::Judged before = trials.judge(start, first, part);
    Trials::Judged after = trials.judge(c.result, first, part);
    c.runs = trials.runs();
    c.before = std::move(before.held_out);
    c.after = std::move(after.held_out);
    c.fitted_before = std::move(before.fitted);
    c.fitted_after = std::move(after.fitted);
  } catch (const Interrupted&) {
    c.interrupted = true;
  }
  return c;
}

}  // namespace blockyard::study
