#include "sim/serving/admission_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/sched/schedulers.h"
#include "sim/serving/slo_options.h"

namespace blockyard::serving {

using scenario::Document;
using scenario::Kind;

namespace {

RateLimit rate_limit(const Document& scenario) {
  const std::string section = "admission.rate_limit";
  RateLimit limit;
  if (scenario.has_value(section + ".requests_per_s"))
    limit.requests_per_s = scenario.real(section + ".requests_per_s");
  if (scenario.has_value(section + ".tokens_per_s")) limit.tokens_per_s = scenario.real(section + ".tokens_per_s");
  if (limit.requests_per_s || limit.tokens_per_s) limit.burst_s = to_seconds(scenario.time(section + ".burst"));
  return limit;
}

}  // namespace

std::optional<double> watermark(const Document& scenario, Tokens block_size, Tokens usable, Diagnostics& errors) {
  if (scenario.is_word("admission.watermark", "engine")) return std::nullopt;
  double share = 0;
  if (scenario.is("admission.watermark", Kind::blocks)) {
    // Half a token more, so that the share of so many blocks rounds down to them.
    const auto slots = static_cast<double>((block_size * scenario.blocks("admission.watermark").count()).count());
    share = (slots + 0.5) / static_cast<double>(usable.count());
  } else {
    share = scenario.real("admission.watermark");
  }
  if (share >= 1) {
    errors.add(scenario.place("admission.watermark"),
               "admission.watermark: the whole pool would stay free; expected less than all of it");
  }
  return share;
}

sched::QueueOptions queue_options(const Document& scenario, Diagnostics& errors) {
  sched::QueueOptions options;
  const std::string& order = scenario.choice("engine.queue_order");
  if (!sched::traits_of(scenario.choice("engine.scheduler")).any_order && order != "fcfs" && order != "priority") {
    errors.add(scenario.place("engine.queue_order"),
               fmt::format("engine.queue_order: {} knows fcfs and priority alone, found {}",
                           scenario.choice("engine.scheduler"), order));
  }
  if (order == "sjf" || order == "srpt" || order == "fair") {
    options.prediction_cv = scenario.real("engine.length_prediction_cv");
    options.seed = static_cast<std::uint64_t>(scenario.integer("seed"));
  }
  if (order != "edf") return options;
  const std::optional<SimTime> patience = slo(scenario).ttft;
  const std::vector<metrics::SloClass> classes = slo_classes(scenario);
  const auto unlimited = std::ranges::find_if(classes, [](const auto& c) { return !c.slo.ttft; });
  if (!patience && (classes.empty() || unlimited != classes.end())) {
    errors.add(scenario.place("engine.queue_order"),
               fmt::format("engine.queue_order: edf needs slo.ttft, the deadline of a first token{}",
                           classes.empty() ? "" : ", or one for the class " + unlimited->name));
    return options;
  }
  // Requests of no class, where all deadlines are of classes, wait as the most patient of them do.
  for (const metrics::SloClass& c : classes) {
    options.deadlines_by_class.push_back(*c.slo.ttft);
    options.deadline = std::max(options.deadline, *c.slo.ttft);
  }
  if (patience) options.deadline = *patience;
  options.deadline_per_priority = scenario.time("engine.deadline_per_priority");
  return options;
}

void note_queue_order(const Document& scenario, bool cached, std::vector<std::string>& notes) {
  const std::string& order = scenario.choice("engine.queue_order");
  if ((order == "sjf" || order == "srpt") && scenario.real("engine.length_prediction_cv") == 0) {
    notes.push_back(fmt::format(
        "engine.queue_order: {} is told the true output lengths; engine.length_prediction_cv makes predictions of them",
        order));
  }
  if (order == "longest_prefix" && !cached) {
    notes.emplace_back(
        "engine.queue_order: longest_prefix finds nothing without a prefix cache: requests are admitted as they come");
  }
}

AdmissionOptions admission_options(const Document& scenario) {
  AdmissionOptions admission;
  if (!scenario.is_word("admission.max_queue", "unlimited"))
    admission.max_queue = scenario.integer("admission.max_queue");
  admission.reject_never_fits = scenario.choice("admission.never_fits") == "reject";
  const std::string& over_length = scenario.choice("admission.over_length");
  if (over_length == "reject") admission.over_length = OverLength::reject;
  if (over_length == "truncate") admission.over_length = OverLength::truncate;
  admission.rate_limit = rate_limit(scenario);
  if (!scenario.is_word("admission.abandon_after", "never"))
    admission.abandon_after = scenario.time("admission.abandon_after");
  return admission;
}

}  // namespace blockyard::serving
