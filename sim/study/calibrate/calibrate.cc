#include "sim/study/calibrate/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "sim/base/diagnostics.h"
#include "sim/serving/assemble.h"
#include "sim/serving/hardware.h"
#include "sim/study/calibrate/time_slopes.h"

namespace blockyard::study {
namespace {

struct Group {
  std::string_view name;
  std::vector<std::string> members;
};

// Of two that cannot be told apart the first is fitted: what whole kernels and the engine take before the fixed times
// of kernels, of which kernel benchmarks tell more.
std::vector<std::string> every_constant() {
  std::vector<std::string> names{"memory_efficiency",
                                 "compute_efficiency",
                                 "decode_memory_efficiency",
                                 "prefill_compute_efficiency",
                                 "host_time",
                                 "host_sequence",
                                 "host_rank",
                                 "front_end"};
  for (const cost::ConstantDoc& doc : cost::constant_docs()) {
    if (std::ranges::find(names, doc.name) == names.end()) names.emplace_back(doc.name);
  }
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

constexpr double kDifference = 0.02;  // of a parameter's scale, over which its slopes are taken

constexpr std::size_t kTimes = 3;  // TTFT, TPOT and E2E of each group of requests
// Of requests that came one after the other. Alone, one's TTFT jumps by a step as it just meets or misses a plan; of
// too many the load no longer varies, by which constants are told apart.
constexpr std::size_t kGroups = 200;
constexpr std::size_t kFewestInAGroup = 5;
constexpr std::size_t kMostInAGroup = 30;

// Times are linear in a time, and in the inverse of a share of a peak: so the fit has it.
double fit_value(cost::ConstantKind kind, double constant) {
  return kind == cost::ConstantKind::share ? 1 / constant : constant;
}

// The constant once what the fit has for it moved by so much.
double moved_constant(cost::ConstantKind kind, double constant, double by) {
  return fit_value(kind, fit_value(kind, constant) + by);
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

  // How far the times of requests [first, last) are off, group by group, and how they answer to the constants, by the
  // unit of what the fit moves.
  Evaluation evaluate(const std::vector<double>& values, const std::vector<double>& by, std::size_t first,
                      std::size_t last) {
    const cost::Constants at = with(values);
    std::vector<TimeSlopes::Moved> moved;
    for (std::size_t j = 0; j < by.size(); ++j) {
      std::vector<double> there = values;
      there[j] = moved_constant(doc_of(options_->fit[j]).kind, values[j], by[j]);
      const cost::Constants constants = with(there);
      moved.push_back({cost_with(constants), by[j], to_time(constants.front_end_s) - to_time(at.front_end_s)});
    }
    TimeSlopes slopes(cost_with(at), std::move(moved));
    const serving::RunResult result = run(at, [&](const serving::StepTaken& step) { slopes.add(step); });
    const std::size_t size = std::clamp((last - first) / kGroups, kFewestInAGroup, kMostInAGroup);
    Evaluation evaluation;
    evaluation.slopes.resize(by.size());
    for (std::size_t begin = first; begin < last; begin += size) {
      add_group(result.collector, slopes, to_time(at.front_end_s), begin, std::min(last, begin + size), evaluation);
    }
    return evaluation;
  }
  [[nodiscard]] int runs() const { return runs_; }

  // One run, judged on both parts of the requests.
  struct Judged {
    Validation fitted;
    Validation held_out;
  };
  Judged judge(const cost::Constants& constants, std::int64_t first, std::int64_t part) {
    const serving::RunResult result = run(constants, {});
    ValidateOptions fitted;
    fitted.first = first;
    fitted.last = part;
    ValidateOptions held_out;
    held_out.first = part;
    return {compare_with_measured(*run_, result, fitted), compare_with_measured(*run_, result, held_out)};
  }

 private:
  [[nodiscard]] std::unique_ptr<cost::CostModel> cost_with(const cost::Constants& constants) const {
    return serving::assemble(*scenario_, *configs_, &requests_, &constants).cost;
  }

  serving::RunResult run(const cost::Constants& constants, std::function<void(const serving::StepTaken&)> step_taken) {
    const auto go_on = [this] { return !options_->go_on || options_->go_on(runs_); };
    if (!go_on()) throw Interrupted{};
    ++runs_;
    serving::RunResult result =
        serving::run(*scenario_, *configs_,
                     {.go_on = [&](const serving::RunProgress&, std::optional<std::int64_t>) { return go_on(); },
                      .constants = &constants,
                      .requests = &requests_,
                      .step_taken = std::move(step_taken)});
    if (result.summary.interrupted) throw Interrupted{};
    return result;
  }

  // Of one kind of time over the requests of a group.
  struct Mean {
    explicit Mean(std::size_t constants) : slopes(constants) {}
    double sum = 0;
    int count = 0;
    std::vector<double> slopes;
    void add(double measured, double simulated, const std::vector<double>& answers) {
      if (!(measured > 0) || !(simulated > 0)) return;
      sum += std::log(simulated / measured);
      for (std::size_t j = 0; j < answers.size(); ++j) slopes[j] += answers[j] / simulated;
      ++count;
    }
  };

  // One that was turned away or cut short, or that the run ended before, has no time; where a group has none at all it
  // counts as if it took twice as long.
  void add_group(const metrics::Collector& collector, const TimeSlopes& slopes, SimTime front_end, std::size_t begin,
                 std::size_t end, Evaluation& to) const {
    const std::size_t n = to.slopes.size();
    Mean ttft(n);
    Mean tpot(n);
    Mean e2e(n);
    std::size_t refused = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const MeasuredRequest& m = run_->requests[i];
      const double measured_ttft = m.ttft ? static_cast<double>(m.ttft->count()) : 0;
      const double measured_e2e = m.e2e ? static_cast<double>(m.e2e->count()) : 0;
      if (i >= collector.records().size() || !served_whole(m, collector.records()[i])) {
        ++refused;
        continue;
      }
      const metrics::RequestRecord& s = collector.records()[i];
      TimeSlopes::Answer answer =
          slopes.of(s, collector.replica_of(static_cast<metrics::RecordId>(i)).value_or(0), front_end);
      const auto gaps = static_cast<double>(std::max<std::int64_t>(1, m.output_tokens.count() - 1));
      std::vector<double> whole = answer.to_first_token;
      std::vector<double> gap = answer.from_there_to_end;
      for (std::size_t j = 0; j < n; ++j) {
        whole[j] += gap[j];
        gap[j] /= gaps;
      }
      ttft.add(measured_ttft, static_cast<double>((s.first_token - s.arrival).count()), answer.to_first_token);
      tpot.add(m.tpot_ns.value_or(0), static_cast<double>((s.ended - s.first_token).count()) / gaps, gap);
      e2e.add(measured_e2e, static_cast<double>((s.ended - s.arrival).count()), whole);
    }
    for (const Mean& mean : {ttft, tpot, e2e}) {
      const double count = std::max(1, mean.count);
      to.residuals.push_back(refused == end - begin ? std::log(2) : mean.sum / count);
      for (std::size_t j = 0; j < n; ++j) to.slopes[j].push_back(mean.slopes[j] / count);
    }
  }

  const scenario::Document* scenario_;
  const std::filesystem::path* configs_;
  const MeasuredRun* run_;
  const CalibrateOptions* options_;
  serving::RequestsOverride requests_;
  cost::Constants constants_;
  int runs_ = 0;
};

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

std::vector<GivenConstant> given_constants(const Calibrated& c, cost::Constants of_gpu) {
  std::vector<GivenConstant> given;
  cost::Constants result = c.result;
  for (const cost::ConstantDoc& doc : cost::constant_docs()) {
    const auto fitted = std::ranges::find(c.constants, doc.name, &FittedConstant::name);
    if (fitted != c.constants.end() && fitted->fitted.identified == Identified::yes) continue;
    if (doc.of(result) != doc.of(of_gpu)) given.push_back({std::string(doc.name), doc.kind, doc.of(result)});
  }
  return given;
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
  if (scenario.choice("kv_cache.strategy") == "none") {
    throw InputError(scenario.place("kv_cache.strategy"),
                     "kv_cache.strategy: none computes each context again in every step: no fit is made of that");
  }
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
    const auto model = [&](const std::vector<double>& v) {
      std::vector<double> constants;
      std::vector<double> by;
      for (std::size_t i = 0; i < v.size(); ++i) {
        constants.push_back(fit_value(doc_of(options.fit[i]).kind, v[i]));
        by.push_back(kDifference * parameters[i].scale);
      }
      return trials.evaluate(constants, by, static_cast<std::size_t>(first), static_cast<std::size_t>(part));
    };
    const Fit fit = fit_least_squares(parameters, model, {.together = kTimes});
    c.settled = fit.settled;
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
    c.given = given_constants(c, cost::Constants{serving::load_gpu(scenario, configs).calibration, {}, 0});
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
