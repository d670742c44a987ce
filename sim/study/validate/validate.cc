#include "sim/study/validate/validate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "sim/workload/content_store.h"
#include "sim/workload/list_source.h"

namespace blockyard::study {
namespace {

// Both sides of one time, request by request.
class Pairs {
 public:
  explicit Pairs(std::string name) { times_.name = std::move(name); }

  void add(double measured_ns, double simulated_ns) {
    measured_.push_back(measured_ns);
    simulated_.push_back(simulated_ns);
    if (measured_ns > 0) {
      error_ += std::abs(simulated_ns / measured_ns - 1);
    } else {
      ++times_.measured_zero;
    }
  }
  [[nodiscard]] ComparedTimes compared() {
    const std::int64_t told = static_cast<std::int64_t>(measured_.size()) - times_.measured_zero;
    if (told > 0) times_.per_request_error = error_ / static_cast<double>(told);
    times_.measured = metrics::distribution_of(measured_);
    times_.simulated = metrics::distribution_of(simulated_);
    return std::move(times_);
  }

 private:
  ComparedTimes times_;
  std::vector<double> measured_;
  std::vector<double> simulated_;
  double error_ = 0;
};

double ns(SimTime time) { return static_cast<double>(time.count()); }

std::vector<ComparedTimes> compare_times(const MeasuredRun& run, const std::vector<metrics::RequestRecord>& records,
                                         std::size_t first, std::size_t last, std::int64_t& compared) {
  Pairs ttft("ttft");
  Pairs tpot("tpot");
  Pairs e2e("e2e");
  for (std::size_t i = first; i < last; ++i) {
    const MeasuredRequest& m = run.requests[i];
    const metrics::RequestRecord& s = records[i];
    if (!served_whole(m, s)) continue;
    ++compared;
    if (m.ttft) ttft.add(ns(*m.ttft), ns(s.first_token - s.arrival));
    if (m.e2e) e2e.add(ns(*m.e2e), ns(s.ended - s.arrival));
    if (m.tpot_ns && s.generated_tokens > 1)
      tpot.add(*m.tpot_ns, ns(s.ended - s.first_token) / static_cast<double>(s.generated_tokens - 1));
  }
  return {ttft.compared(), tpot.compared(), e2e.compared()};
}

std::vector<ComparedFigure> compare_figures(const MeasuredRun& run, const metrics::Summary& summary) {
  SimTime end;
  std::int64_t tokens = 0;
  for (const MeasuredRequest& r : run.requests) {
    if (!r.e2e) return {};
    end = std::max(end, r.arrival + *r.e2e);
    tokens += r.output_tokens.count();
  }
  const Seconds makespan = to_seconds(end);
  if (makespan == 0) return {{"makespan_s", makespan, summary.makespan_s}};
  return {{"makespan_s", makespan, summary.makespan_s},
          {"requests_per_s", static_cast<double>(run.requests.size()) / makespan, summary.requests_per_s},
          {"output_tokens_per_s", static_cast<double>(tokens) / makespan, summary.output_tokens_per_s}};
}

}  // namespace

serving::RequestsOverride requests_of(const MeasuredRun& run) {
  return {.tells_contents = run.tells_contents(),
          .expected = static_cast<std::int64_t>(run.requests.size()),
          .make = [&run](workload::ContentStore* contents) {
            std::vector<workload::Request> requests;
            requests.reserve(run.requests.size());
            for (const MeasuredRequest& m : run.requests) {
              workload::Request r;
              r.arrival = m.arrival;
              r.prompt_tokens = m.prompt_tokens;
              r.output_tokens = r.max_tokens = m.output_tokens;
              if (contents != nullptr && !m.content.empty()) r.content = contents->put(m.content);
              requests.push_back(r);
            }
            serving::Requests given;
            given.source = std::make_unique<workload::ListSource>(std::move(requests));
            return given;
          }};
}

bool served_whole(const MeasuredRequest& measured, const metrics::RequestRecord& simulated) {
  return simulated.outcome == metrics::Outcome::finished &&
         simulated.generated_tokens >= measured.output_tokens.count();
}

Validation validate(const scenario::Document& scenario, const std::filesystem::path& configs, const MeasuredRun& run,
                    const ValidateOptions& options) {
  const serving::RequestsOverride requests = requests_of(run);
  const serving::RunResult result =
      serving::run(scenario, configs, {.go_on = options.go_on, .constants = options.constants, .requests = &requests});
  Validation v = compare_with_measured(run, result, options);
  v.engine = engine_of(scenario);
  v.notes = differences(scenario, v.summary.identity.model, run.file);
  return v;
}

Validation compare_with_measured(const MeasuredRun& run, const serving::RunResult& result,
                                 const ValidateOptions& options) {
  Validation v;
  v.file = run.file;
  v.requests = static_cast<std::int64_t>(run.requests.size());
  v.left_out = std::min(options.leave_out_first, v.requests);
  const std::vector<metrics::RequestRecord>& records = result.collector.records();
  const std::size_t arrived = std::min(records.size(), run.requests.size());
  const auto first = static_cast<std::size_t>(std::max(options.first, v.left_out));
  const auto last = std::min(arrived, static_cast<std::size_t>(options.last));
  v.times = compare_times(run, records, first, last, v.compared);
  for (std::size_t i = 0; i < arrived; ++i) {
    if (records[i].outcome == metrics::Outcome::finished && !served_whole(run.requests[i], records[i])) ++v.cut_short;
  }
  const bool all = first == 0 && last == arrived;
  if (!run.gaps_ns.empty() && all) {
    std::vector<std::int64_t> gaps = run.gaps_ns;
    v.times.insert(v.times.end() - 1, {"itl", metrics::distribution_of(gaps), result.summary.itl, std::nullopt, 0});
  }
  if (all) v.figures = compare_figures(run, result.summary);
  v.summary = result.summary;
  return v;
}

std::vector<std::string> measured_as_zero(const Validation& validation) {
  std::vector<std::string> names;
  for (const ComparedTimes& t : validation.times) {
    const auto add = [&](const char* statistic, std::optional<double> measured) {
      if (measured && *measured <= 0) names.push_back(t.name + "_" + statistic);
    };
    add("mean", t.measured.mean_s);
    add("p50", t.measured.p50_s);
    add("p90", t.measured.p90_s);
    add("p99", t.measured.p99_s);
    if (t.measured_zero > 0 && !t.per_request_error) names.push_back(t.name + "_per_request");
  }
  if (!validation.figures.empty() && validation.figures.front().measured <= 0)
    names.insert(names.end(), {"makespan", "requests_per_s", "output_tokens_per_s"});
  return names;
}

std::vector<SignedError> errors_of(const Validation& validation) {
  std::vector<SignedError> errors;
  for (const ComparedTimes& t : validation.times) {
    const auto add = [&](const char* statistic, std::optional<double> measured, std::optional<double> simulated) {
      if (measured && simulated && *measured > 0)
        errors.push_back({t.name + "_" + statistic, *simulated / *measured - 1});
    };
    add("mean", t.measured.mean_s, t.simulated.mean_s);
    add("p50", t.measured.p50_s, t.simulated.p50_s);
    add("p90", t.measured.p90_s, t.simulated.p90_s);
    add("p99", t.measured.p99_s, t.simulated.p99_s);
    if (t.per_request_error) errors.push_back({t.name + "_per_request", *t.per_request_error});
  }
  for (const ComparedFigure& f : validation.figures) {
    if (f.measured <= 0) continue;
    std::string name = f.name;
    if (name == "makespan_s") name = "makespan";
    errors.push_back({std::move(name), f.simulated / f.measured - 1});
  }
  if (validation.requests > 0) {
    const metrics::Summary& s = validation.summary;
    errors.push_back({kNotServed, static_cast<double>(s.rejected + s.timed_out + s.unfinished + validation.cut_short) /
                                      static_cast<double>(validation.requests)});
  }
  return errors;
}

std::vector<std::string> figure_names(const MeasuredRun& run, bool all) {
  std::vector<std::string> names;
  const auto add = [&](const char* time, bool measured, bool paired) {
    if (!measured) return;
    for (const char* statistic : {"mean", "p50", "p90", "p99"}) names.push_back(std::string(time) + "_" + statistic);
    if (paired) names.push_back(std::string(time) + "_per_request");
  };
  const auto any = [&](const auto& has) { return std::ranges::any_of(run.requests, has); };
  add("ttft", any([](const MeasuredRequest& r) { return r.ttft.has_value(); }), true);
  add("tpot", any([](const MeasuredRequest& r) { return r.tpot_ns.has_value(); }), true);
  add("itl", all && !run.gaps_ns.empty(), false);
  add("e2e", any([](const MeasuredRequest& r) { return r.e2e.has_value(); }), true);
  if (all && !any([](const MeasuredRequest& r) { return !r.e2e.has_value(); })) {
    for (const char* figure : {"makespan", "requests_per_s", "output_tokens_per_s"}) names.emplace_back(figure);
  }
  if (!names.empty()) names.emplace_back(kNotServed);
  return names;
}

}  // namespace blockyard::study
