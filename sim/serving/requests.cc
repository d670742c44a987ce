#include "sim/serving/requests.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/sched/schedulers.h"
#include "sim/serving/client_options.h"
#include "sim/serving/generate_options.h"
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

// Who waits for an answer needs no time, and users need none at all.
workload::UntimedRows untimed_rows(const Document& scenario) {
  if (scenario.choice("workload.trace.untimed") == "keep") return workload::UntimedRows::keep;
  if (scenario.is_set("workload.trace.untimed")) return workload::UntimedRows::refuse;
  switch (client_mode(scenario)) {
    case ClientMode::users:
      return workload::UntimedRows::keep;
    case ClientMode::sessions:
      return workload::UntimedRows::turns;
    case ClientMode::open:
      break;
  }
  return workload::UntimedRows::refuse;
}

workload::TraceOptions trace_options(const Document& scenario, workload::ContentStore* contents) {
  workload::TraceOptions options;
  options.format = scenario.choice("workload.trace.format");
  options.bad_lengths = bad_lengths(scenario.choice("workload.trace.bad_lengths"));
  options.reorder_window = scenario.integer("workload.trace.reorder_window");
  options.max_bad_rows = scenario.integer("workload.trace.max_bad_rows");
  options.header = scenario.boolean("workload.trace.header");
  if (!scenario.is_word("workload.trace.limit", "none")) options.limit = scenario.integer("workload.trace.limit");
  options.untimed = untimed_rows(scenario);
  const bool own_block = scenario.is_word("workload.trace.hash_block", "auto");
  if (!own_block) options.hash_block = scenario.integer("workload.trace.hash_block");
  options.partial_ids = partial_ids(scenario.choice("workload.trace.partial_ids"));
  options.contents = contents;
  options.rate_scale = scenario.real("workload.trace.rate_scale");
  return options;
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
  if (scenario.is_set("workload.max_tokens.noise_cv") && rule.kind != workload::MaxTokensKind::factor) {
    errors.add(scenario.place("workload.max_tokens.noise_cv"),
               fmt::format("workload.max_tokens.noise_cv: noise is of the rule `factor`, not of `{}`", name));
  }
  rule.noise_cv = scenario.real("workload.max_tokens.noise_cv");
  rule.seed = static_cast<std::uint64_t>(scenario.integer("seed"));
  rule.max_model_len = max_model_len;
  return rule;
}

// Of what is told of "clients[2].arrivals: rate: ...": that key, or the client. Of other things the whole.
Place place_in_spec(const Document& scenario, std::string_view message) {
  if (!has_clients(scenario)) return scenario.place("workload.generate");
  const std::vector<Document>& clients = scenario.items("workload.generate.clients");
  constexpr std::string_view kClient = "clients[";
  std::size_t index = clients.size();
  if (message.starts_with(kClient))
    std::from_chars(message.data() + kClient.size(), message.data() + message.size(), index);
  if (index >= clients.size()) return scenario.place("workload.generate.clients");
  const std::size_t key = message.find("].");
  if (key == std::string_view::npos) return clients[index].place();
  const std::string_view path = message.substr(key + 2, message.find_first_of(".: ", key + 2) - key - 2);
  return clients[index].schema().find(path) ? clients[index].place(path) : clients[index].place();
}

// What only the whole of a spec can be wrong about carries no place.
std::unique_ptr<workload::RequestSource> make_source(const Document& scenario, Diagnostics& errors) try {
  if (has_clients(scenario)) {
    const auto spec = mixture_spec(scenario, errors);
    return spec ? workload::make_mixture(*spec) : nullptr;
  }
  const auto spec = generator_spec(scenario, errors);
  return spec ? workload::make_generator(*spec) : nullptr;
} catch (const InputError& error) {
  for (const Diagnostic& d : error.diagnostics()) {
    const bool placed = !d.place.file.empty();
    errors.add(placed ? d.place : place_in_spec(scenario, d.message),
               placed ? d.message : "workload.generate." + d.message);
  }
  return nullptr;
}

}  // namespace

bool tells_contents(const Document& scenario) {
  if (scenario.is_set("workload.generate")) {
    return generates_with(scenario, "prefix") || generates_with(scenario, "sessions");
  }
  return scenario.is_set("workload.trace.file") &&
         workload::trace_tells_contents(scenario.file("workload.trace.file").string(),
                                        scenario.choice("workload.trace.format"));
}

bool asks_samples(const Document& scenario) {
  if (!scenario.is_word("workload.n", "recorded")) return scenario.integer("workload.n") > 1;
  if (scenario.is_set("workload.generate")) return generated_samples(scenario) > 1;
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
    requests.trace = requests.named_by = trace.get();
    requests.source = std::move(trace);
  } else {
    requests.source = make_source(scenario, errors);
    requests.expected = scenario.integer("workload.generate.requests");
  }
  if (requests.source == nullptr) return requests;
  if (!scenario.is_word("workload.n", "recorded")) {
    requests.source =
        workload::with_samples(std::move(requests.source), static_cast<std::int32_t>(scenario.integer("workload.n")));
  }
  if (requests.trace != nullptr && !asks_samples(scenario))
    requests.source = workload::expect_one_sample(std::move(requests.source));
  requests.source = workload::with_max_tokens(std::move(requests.source), rule);
  if (splits_samples(scenario)) {
    requests.source = workload::request_of_each_sample(std::move(requests.source), contents);
    requests.expected.reset();
  }
  return requests;
}

}  // namespace blockyard::serving
