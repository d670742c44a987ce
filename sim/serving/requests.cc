#include "sim/serving/requests.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "sim/sched/schedulers.h"
#include "sim/workload/generator.h"
#include "sim/workload/max_tokens.h"
#include "sim/workload/samples.h"

namespace blockyard::serving {
namespace {

using scenario::Document;

workload::BadLengths bad_lengths(const std::string& word) {
  if (word == "keep") return workload::BadLengths::keep;
  return word == "fail" ? workload::BadLengths::fail : workload::BadLengths::drop;
}

workload::PartialIds partial_ids(const std::string& word) {
  if (word == "ceil") return workload::PartialIds::ceil;
  if (word == "floor") return workload::PartialIds::floor;
  return word == "either" ? workload::PartialIds::either : workload::PartialIds::by_format;
}

workload::TraceOptions trace_options(const Document& scenario, workload::ContentStore* contents) {
  workload::TraceOptions options;
  options.format = scenario.choice("workload.trace.format");
  options.bad_lengths = bad_lengths(scenario.choice("workload.trace.bad_lengths"));
  options.reorder_window = scenario.integer("workload.trace.reorder_window");
  options.max_bad_rows = scenario.integer("workload.trace.max_bad_rows");
  options.header = scenario.boolean("workload.trace.header");
  if (!scenario.is_word("workload.trace.limit", "none")) options.limit = scenario.integer("workload.trace.limit");
  const bool keeps_untimed = scenario.choice("workload.trace.untimed") == "keep";
  options.untimed = keeps_untimed ? workload::UntimedRows::keep : workload::UntimedRows::refuse;
  const bool own_block = scenario.is_word("workload.trace.hash_block", "auto");
  if (!own_block) options.hash_block = scenario.integer("workload.trace.hash_block");
  options.partial_ids = partial_ids(scenario.choice("workload.trace.partial_ids"));
  options.contents = contents;
  options.rate_scale = scenario.real("workload.trace.rate_scale");
  return options;
}

workload::LengthSpec length_spec(const Document& scenario, const std::string& section) {
  workload::LengthSpec spec;
  spec.distribution = scenario.choice(section + ".distribution");
  if (scenario.has_value(section + ".mean")) spec.mean = scenario.real(section + ".mean");
  if (scenario.has_value(section + ".cv")) spec.cv = scenario.real(section + ".cv");
  if (scenario.has_value(section + ".low")) spec.low = scenario.tokens(section + ".low");
  if (scenario.has_value(section + ".high")) spec.high = scenario.tokens(section + ".high");
  if (scenario.has_value(section + ".value")) spec.value = scenario.tokens(section + ".value");
  if (scenario.has_value(section + ".max")) spec.max = scenario.tokens(section + ".max");
  return spec;
}

// Keys that the named distribution needs and the user did not give.
template <class Rows>
void expect_keys(const Document& scenario, const Rows& rows, std::string_view name, const std::string& section,
                 Diagnostics& errors) {
  for (const auto& row : rows) {
    if (row.name != name) continue;
    for (const std::string_view key : row.keys) {
      const std::string path = section + "." + std::string(key);
      if (scenario.has(path) && !scenario.has_value(path)) {
        errors.add(scenario.place(section), fmt::format("{}: `{}` needs it", path, name));
      }
    }
  }
}

// Errors of the generator's own rules carry no place; they get that of their section.
template <class Rows, class Spec>
void check_spec(const Document& scenario, const Rows& rows, std::string_view name, const Spec& spec,
                const std::string& section, Diagnostics& errors) {
  for (const auto& row : rows) {
    if (row.name != name) continue;
    Diagnostics found;
    row.check(spec, found);
    for (const Diagnostic& d : found.list()) errors.add(scenario.place(section), section + ": " + d.message);
  }
}

std::unique_ptr<workload::RequestSource> generator(const Document& scenario, Diagnostics& errors) {
  const std::string base = "workload.generate";
  workload::GeneratorSpec spec;
  spec.requests = scenario.integer(base + ".requests");
  spec.seed = static_cast<std::uint64_t>(scenario.integer("seed"));
  spec.arrivals.process = scenario.choice(base + ".arrivals.process");
  spec.arrivals.rate_per_s = scenario.rate(base + ".arrivals.rate");
  spec.samples = static_cast<std::int32_t>(scenario.integer(base + ".n"));
  if (scenario.is_set(base + ".prefix")) {
    spec.prefix = workload::PrefixSpec{scenario.integer(base + ".prefix.groups"),
                                       scenario.tokens(base + ".prefix.tokens"), scenario.real(base + ".prefix.zipf")};
  }
  const std::size_t before = errors.list().size();
  const auto check_lengths = [&](const workload::LengthSpec& lengths, const std::string& section) {
    const std::size_t missing = errors.list().size();
    expect_keys(scenario, workload::length_distributions(), lengths.distribution, section, errors);
    if (errors.list().size() > missing) return;
    check_spec(scenario, workload::length_distributions(), lengths.distribution, lengths, section, errors);
  };
  check_spec(scenario, workload::arrival_processes(), spec.arrivals.process, spec.arrivals, base + ".arrivals", errors);
  if (scenario.is_set(base + ".lengths")) {
    for (const char* section : {".prompt_tokens", ".output_tokens"}) {
      if (scenario.is_set(base + section)) {
        errors.add(scenario.place(base + section), base + section + ": given beside workload.generate.lengths");
      }
    }
    (void)scenario.choice(base + ".lengths.distribution");  // there is one
    spec.lengths = workload::JointLengthSpec{scenario.file(base + ".lengths.file"), std::nullopt};
    if (scenario.has_value(base + ".lengths.max_total"))
      spec.lengths->max_total = scenario.tokens(base + ".lengths.max_total");
  } else {
    for (const auto& [section, lengths] : {std::pair(base + ".prompt_tokens", &spec.prompt_tokens),
                                           std::pair(base + ".output_tokens", &spec.output_tokens)}) {
      if (!scenario.is_set(section)) {
        errors.add(scenario.place(base), section + ": missing (or workload.generate.lengths, for both)");
        continue;
      }
      *lengths = length_spec(scenario, section);
      check_lengths(*lengths, section);
    }
  }
  if (errors.list().size() > before) return nullptr;
  return std::make_unique<workload::Generator>(spec);
}

workload::MaxTokensRule max_tokens_rule(const Document& scenario, Tokens max_model_len, Diagnostics& errors) {
  workload::MaxTokensRule rule;
  const std::string& name = scenario.choice("workload.max_tokens.rule");
  for (const workload::MaxTokensEntry& entry : workload::max_tokens_rules()) {
    if (entry.name != name) continue;
    rule.kind = entry.kind;
    const std::string path = "workload.max_tokens." + std::string(entry.key);
    if (!entry.key.empty() && scenario.has(path) && !scenario.has_value(path)) {
      errors.add(scenario.place("workload.max_tokens"), fmt::format("{}: the rule `{}` needs it", path, name));
    }
  }
  if (scenario.has_value("workload.max_tokens.value")) rule.value = scenario.tokens("workload.max_tokens.value");
  if (scenario.has_value("workload.max_tokens.factor")) rule.factor = scenario.real("workload.max_tokens.factor");
  rule.max_model_len = max_model_len;
  return rule;
}

}  // namespace

bool tells_contents(const Document& scenario) {
  if (scenario.is_set("workload.generate")) return scenario.is_set("workload.generate.prefix");
  return scenario.is_set("workload.trace.file") &&
         workload::trace_tells_contents(scenario.file("workload.trace.file").string(),
                                        scenario.choice("workload.trace.format"));
}

bool asks_samples(const Document& scenario) {
  if (!scenario.is_word("workload.n", "recorded")) return scenario.integer("workload.n") > 1;
  if (scenario.is_set("workload.generate")) return scenario.integer("workload.generate.n") > 1;
  return scenario.is_set("workload.trace.file") &&
         workload::trace_asks_samples(scenario.file("workload.trace.file").string(),
                                      scenario.choice("workload.trace.format"));
}

bool splits_samples(const Document& scenario) {
  return asks_samples(scenario) && !sched::traits_of(scenario.choice("engine.scheduler")).can_fork;
}

Requests make_requests(const Document& scenario, Tokens max_model_len, workload::ContentStore* contents,
                       Diagnostics& errors) {
  const std::size_t before = errors.list().size();
  constexpr std::array<std::string_view, 2> kSources{"workload.trace", "workload.generate"};
  scenario.expect_one_of(kSources, errors);
  const workload::MaxTokensRule rule = max_tokens_rule(scenario, max_model_len, errors);
  if (errors.list().size() > before) return {};
  Requests requests;
  if (scenario.is_set("workload.trace")) {
    auto trace = workload::open_trace(scenario.file("workload.trace.file").string(), trace_options(scenario, contents));
    requests.trace = trace.get();
    requests.source = std::move(trace);
  } else {
    requests.source = generator(scenario, errors);
    requests.expected = scenario.integer("workload.generate.requests");
  }
  if (requests.source == nullptr) return requests;
  if (!scenario.is_word("workload.n", "recorded")) {
    requests.source =
        workload::with_samples(std::move(requests.source), static_cast<std::int32_t>(scenario.integer("workload.n")));
  }
  if (requests.trace != nullptr && !asks_samples(scenario))
    requests.source = workload::expect_one_sample(std::move(requests.source));
  if (splits_samples(scenario)) {
    requests.source = workload::request_of_each_sample(std::move(requests.source), contents);
    requests.expected.reset();
  }
  requests.source = workload::with_max_tokens(std::move(requests.source), rule);
  return requests;
}

}  // namespace blockyard::serving
