#include "sim/serving/generate_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/scenario/value.h"
#include "sim/serving/client_options.h"
#include "sim/workload/classes.h"

namespace blockyard::serving {
namespace {

using scenario::Document;
using scenario::Kind;

// Keys of other distributions are left unread, and the report says so.
workload::LengthSpec length_spec(const Document& scenario, const std::string& section) {
  workload::LengthSpec spec;
  spec.distribution = scenario.choice(section + ".distribution");
  if (scenario.has_value(section + ".max")) spec.max = scenario.tokens(section + ".max");
  for (const workload::LengthEntry& entry : workload::length_distributions()) {
    if (entry.name != spec.distribution) continue;
    for (const std::string_view key : entry.keys) {
      const std::string path = section + "." + std::string(key);
      if (!scenario.has_value(path)) continue;
      if (key == "mean") spec.mean = scenario.real(path);
      if (key == "cv") spec.cv = scenario.real(path);
      if (key == "low") spec.low = scenario.tokens(path);
      if (key == "high") spec.high = scenario.tokens(path);
      if (key == "value") spec.value = scenario.tokens(path);
    }
  }
  return spec;
}

// Keys that the named distribution needs and the user did not give; all but one, if it is known from elsewhere.
template <class Rows>
void expect_keys(const Document& scenario, const Rows& rows, std::string_view name, const std::string& section,
                 std::string_view but, Diagnostics& errors) {
  for (const auto& row : rows) {
    if (row.name != name) continue;
    for (const std::string_view key : row.keys) {
      const std::string path = section + "." + std::string(key);
      if (key != but && scenario.has(path) && !scenario.has_value(path)) {
        errors.add(scenario.place(section), fmt::format("{}: `{}` needs it", path, name));
      }
    }
  }
}

// Errors of the generator's own rules carry no place; they begin with the name of their key and get its place.
template <class Rows, class Spec>
void check_spec(const Document& scenario, const Rows& rows, std::string_view name, const Spec& spec,
                const std::string& section, Diagnostics& errors) {
  for (const auto& row : rows) {
    if (row.name != name) continue;
    Diagnostics found;
    row.check(spec, found);
    for (const Diagnostic& d : found.list()) {
      const std::string path = section + "." + d.message.substr(0, d.message.find(':'));
      errors.add(scenario.place(scenario.has(path) ? path : section), section + "." + d.message);
    }
  }
}

// Takes from the front of `text` what stands before `end`, without spaces around it; all of it where there is none.
std::string_view part_of(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
  while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
  return part;
}

// "0 s: 2 req/s, 10 min: 8 req/s".
std::vector<workload::RatePoint> rate_curve(const Document& scenario, const std::string& path, Diagnostics& errors) {
  std::vector<workload::RatePoint> curve;
  std::string_view left = scenario.text(path);
  while (!left.empty()) {
    std::string_view point = part_of(left, ',');
    const scenario::Reading from = scenario::read_value(part_of(point, ':'), Kind::time);
    const scenario::Reading rate = scenario::read_value(part_of(point, '\0'), Kind::rate);
    if (from.value && rate.value) {
      curve.push_back({SimTime(from.value->count), rate.value->number});
    } else {
      const std::string& problem = from.value ? rate.problem : from.problem;
      errors.add(scenario.place(path), fmt::format("{}: point {}: {}; for example \"0 s: 2 req/s, 10 min: 8 req/s\"",
                                                   path, curve.size() + 1, problem));
      return {};
    }
  }
  return curve;
}

// `shared`: what is to be its rate is a share of another, and a rate of its own need not be given.
workload::ArrivalSpec arrival_spec(const Document& scenario, const std::string& section, bool shared,
                                   Diagnostics& errors) {
  workload::ArrivalSpec spec;
  spec.process = scenario.choice(section + ".process");
  const std::size_t before = errors.list().size();
  expect_keys(scenario, workload::arrival_processes(), spec.process, section, shared ? "rate" : "", errors);
  if (errors.list().size() > before) return spec;
  // Keys of other processes are left unread, and the report says so.
  for (const workload::ArrivalEntry& entry : workload::arrival_processes()) {
    if (entry.name != spec.process) continue;
    for (const std::string_view key : entry.keys) {
      const std::string path = section + "." + std::string(key);
      if (key == "rate" && scenario.has_value(path)) spec.rate_per_s = scenario.rate(path);
      if (key == "cv") spec.cv = scenario.real(path);
      if (key == "burst_rate") spec.burst_rate_per_s = scenario.rate(path);
      if (key == "burst") spec.burst = scenario.time(path);
      if (key == "quiet") spec.quiet = scenario.time(path);
      if (key == "period") spec.period = scenario.time(path);
      if (key == "amplitude") spec.amplitude = scenario.real(path);
      if (key == "peak") spec.peak = scenario.time(path);
      if (key == "spike_requests") spec.spike_requests = scenario.integer(path);
      if (key == "spike_length") spec.spike_length = scenario.time(path);
      if (key == "curve") spec.curve = rate_curve(scenario, path, errors);
    }
  }
  if (errors.list().size() > before) return spec;
  check_spec(scenario, workload::arrival_processes(), spec.process, spec, section, errors);
  return spec;
}

template <class CheckLengths>
workload::SessionSpec session_spec(const Document& scenario, const std::string& section,
                                   const CheckLengths& check_lengths) {
  workload::SessionSpec spec;
  spec.turns = scenario.real(section + ".turns");
  spec.geometric = scenario.choice(section + ".spread") == "geometric";
  spec.delay = scenario.time(section + ".delay");
  spec.delay_cv = scenario.real(section + ".delay_cv");
  if (scenario.has_value(section + ".max_context")) spec.max_context = scenario.tokens(section + ".max_context");
  if (scenario.is_set(section + ".next_tokens")) {
    spec.next_tokens = length_spec(scenario, section + ".next_tokens");
    check_lengths(*spec.next_tokens, section + ".next_tokens");
  }
  return spec;
}

// "weight 3, priority 0; weight 1, priority 10".
std::vector<workload::ClassSpec> class_specs(const Document& scenario, const std::string& path, Diagnostics& errors) {
  std::vector<workload::ClassSpec> classes;
  std::string_view left = scenario.text(path);
  while (!left.empty()) {
    std::string_view one = part_of(left, ';');
    workload::ClassSpec spec;
    if (one.empty()) {
      errors.add(scenario.place(path),
                 fmt::format("{}: class {}: empty; expected \"weight 3, priority 0\"", path, classes.size() + 1));
      return {};
    }
    while (!one.empty()) {
      std::string_view value = part_of(one, ',');
      const std::string_view key = part_of(value, ' ');
      const bool weight = key == "weight";
      const scenario::Reading number = scenario::read_value(value, weight ? Kind::real : Kind::integer);
      const bool fits =
          number.value && (weight || (number.value->count >= INT32_MIN && number.value->count <= INT32_MAX));
      if ((!weight && key != "priority") || !fits) {
        errors.add(scenario.place(path),
                   fmt::format("{}: class {}: expected \"weight 3, priority 0\", found {}", path, classes.size() + 1,
                               scenario::in_quotes(std::string(key) + " " + std::string(value))));
        return {};
      }
      if (weight) spec.weight = number.value->number;
      if (!weight) spec.priority = static_cast<std::int32_t>(number.value->count);
    }
    classes.push_back(spec);
  }
  Diagnostics found;
  workload::check_classes(classes, found);
  for (const Diagnostic& d : found.list()) errors.add(scenario.place(path), "workload.generate." + d.message);
  return classes;
}

// What one who sends is made of, whole or an item of the list of clients. `base`: what stands before the names of its
// keys. Without `arrivals` they are not looked at.
workload::GeneratorSpec source_spec(const Document& scenario, const std::string& base, bool arrivals, bool shared,
                                    Diagnostics& errors) {
  workload::GeneratorSpec spec;
  spec.samples = static_cast<std::int32_t>(scenario.integer(base + "n"));
  if (scenario.is_set(base + "prefix")) {
    spec.prefix = workload::PrefixSpec{scenario.integer(base + "prefix.groups"),
                                       scenario.tokens(base + "prefix.tokens"), scenario.real(base + "prefix.zipf")};
  }
  const auto check_lengths = [&](const workload::LengthSpec& lengths, const std::string& section) {
    const std::size_t missing = errors.list().size();
    expect_keys(scenario, workload::length_distributions(), lengths.distribution, section, "", errors);
    if (errors.list().size() > missing) return;
    check_spec(scenario, workload::length_distributions(), lengths.distribution, lengths, section, errors);
  };
  if (arrivals) spec.arrivals = arrival_spec(scenario, base + "arrivals", shared, errors);
  if (scenario.is_set(base + "lengths")) {
    for (const char* section : {"prompt_tokens", "output_tokens"}) {
      if (scenario.is_set(base + section))
        errors.add(scenario.place(base + section), fmt::format("{}{}: given beside {}lengths", base, section, base));
    }
    spec.lengths = workload::JointLengthSpec{.file = scenario.file(base + "lengths.file")};
    spec.lengths->from_trace = scenario.choice(base + "lengths.distribution") == "trace";
    if (scenario.has_value(base + "lengths.max_total"))
      spec.lengths->max_total = scenario.tokens(base + "lengths.max_total");
  } else {
    for (const auto& [section, lengths] : {std::pair(base + "prompt_tokens", &spec.prompt_tokens),
                                           std::pair(base + "output_tokens", &spec.output_tokens)}) {
      if (!scenario.is_set(section)) {
        errors.add(scenario.place(section), fmt::format("{}: missing (or {}lengths, for both)", section, base));
        continue;
      }
      *lengths = length_spec(scenario, section);
      check_lengths(*lengths, section);
    }
  }
  if (scenario.is_set(base + "sessions")) spec.sessions = session_spec(scenario, base + "sessions", check_lengths);
  return spec;
}

// An item of the list of clients; its errors begin with the names of its keys.
workload::ClientSpec client_spec(const Document& client, Diagnostics& errors) {
  workload::ClientSpec spec;
  if (client.has_value("share")) spec.share = client.real("share");
  spec.count = client.integer("count");
  spec.zipf = client.real("zipf");
  spec.priority = static_cast<std::int32_t>(client.integer("priority"));
  if (client.has_value("tenant")) spec.tenant = static_cast<std::uint32_t>(client.integer("tenant"));
  if (client.is_set("servegen")) {
    spec.servegen = client.file("servegen");
    for (const char* key : {"arrivals", "prompt_tokens", "output_tokens", "lengths", "prefix", "sessions", "n"}) {
      if (client.is_set(key))
        errors.add(client.place(key), fmt::format("{}: given beside servegen, whose files say all of a client", key));
    }
    return spec;
  }
  spec.own = source_spec(client, "", true, spec.share.has_value(), errors);
  return spec;
}

}  // namespace

bool has_clients(const Document& scenario) { return scenario.is_set("workload.generate.clients"); }

bool generates_with(const Document& scenario, const std::string& section) {
  if (scenario.is_set("workload.generate." + section)) return true;
  return std::ranges::any_of(scenario.items("workload.generate.clients"),
                             [&](const Document& client) { return client.is_set(section); });
}

std::int64_t generated_samples(const Document& scenario) {
  std::int64_t most = scenario.integer("workload.generate.n");
  for (const Document& client : scenario.items("workload.generate.clients")) most = std::max(most, client.integer("n"));
  return most;
}

std::optional<workload::GeneratorSpec> generator_spec(const Document& scenario, Diagnostics& errors) {
  const std::string base = "workload.generate.";
  const std::size_t before = errors.list().size();
  for (const char* key : {"rate", "rate_scale"}) {
    if (scenario.is_set(base + key)) {
      errors.add(
          scenario.place(base + key),
          fmt::format("{}{}: of clients together; of one who sends alone it is {}arrivals.rate", base, key, base));
    }
  }
  const bool users = client_mode(scenario) == ClientMode::users;
  workload::GeneratorSpec spec = source_spec(scenario, base, !users, false, errors);
  if (users) {
    spec.arrivals.process = "constant";  // as one queue of requests, which users take from
    spec.arrivals.rate_per_s = 1e9;
  }
  spec.requests = scenario.integer(base + "requests");
  spec.seed = static_cast<std::uint64_t>(scenario.integer("seed"));
  if (scenario.has_value(base + "classes")) spec.classes = class_specs(scenario, base + "classes", errors);
  if (errors.list().size() > before) return std::nullopt;
  return spec;
}

std::optional<workload::MixtureSpec> mixture_spec(const Document& scenario, Diagnostics& errors) {
  const std::string base = "workload.generate.";
  const std::size_t before = errors.list().size();
  for (const char* key :
       {"arrivals", "prompt_tokens", "output_tokens", "lengths", "prefix", "sessions", "n", "classes"}) {
    if (!scenario.is_set(base + key)) continue;
    errors.add(scenario.place(base + key),
               fmt::format("{}{}: given beside clients, who each have their own", base, key));
  }
  workload::MixtureSpec spec;
  spec.requests = scenario.integer(base + "requests");
  spec.seed = static_cast<std::uint64_t>(scenario.integer("seed"));
  if (scenario.has_value(base + "rate")) spec.rate_per_s = scenario.rate(base + "rate");
  spec.rate_scale = scenario.real(base + "rate_scale");
  const std::vector<Document>& clients = scenario.items(base + "clients");
  spec.clients.reserve(clients.size());
  for (std::size_t i = 0; i < clients.size(); ++i) {
    Diagnostics found;
    spec.clients.push_back(client_spec(clients[i], found));
    for (const Diagnostic& d : found.list()) errors.add(d.place, fmt::format("{}clients[{}].{}", base, i, d.message));
  }
  if (errors.list().size() > before) return std::nullopt;
  return spec;
}

}  // namespace blockyard::serving
