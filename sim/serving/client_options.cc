#include "sim/serving/client_options.h"

#include <fmt/format.h>

#include "sim/serving/generate_options.h"
#include "sim/workload/trace.h"

namespace blockyard::serving {
namespace {

using scenario::Document;

// Keys that say nothing in this mode, and what would let them.
void refuse(const Document& scenario, std::initializer_list<const char*> keys, const char* why, Diagnostics& errors) {
  for (const char* const key : keys) {
    if (scenario.is_set(key)) errors.add(scenario.place(key), fmt::format("{}: {}", key, why));
  }
}

bool rate_is_scaled(const Document& scenario) { return scenario.real("workload.trace.rate_scale") != 1; }

}  // namespace

ClientMode client_mode(const Document& scenario) {
  const std::string& mode = scenario.choice("workload.clients.mode");
  if (mode == "open") return ClientMode::open;
  if (mode == "sessions") return ClientMode::sessions;
  if (mode == "users" || scenario.has_value("workload.clients.users")) return ClientMode::users;
  if (generates_with(scenario, "sessions")) return ClientMode::sessions;
  const bool waits = scenario.is_set("workload.trace.file") &&
                     workload::trace_waits_for_answers(scenario.file("workload.trace.file").string(),
                                                       scenario.choice("workload.trace.format"));
  return waits ? ClientMode::sessions : ClientMode::open;
}

ClientOptions client_options(const Document& scenario, Diagnostics& errors, std::vector<std::string>& notes) {
  ClientOptions options;
  options.mode = client_mode(scenario);
  options.seed = static_cast<std::uint64_t>(scenario.integer("seed"));
  if (options.mode == ClientMode::users) {
    if (!scenario.has_value("workload.clients.users")) {
      errors.add(scenario.place("workload.clients"), "workload.clients.users: missing: how many users there are");
      return options;
    }
    options.places = scenario.integer("workload.clients.users");
    options.think_time = scenario.time("workload.clients.think_time");
    options.think_cv = scenario.real("workload.clients.think_cv");
    refuse(scenario, {"workload.clients.max_concurrency"},
           "as many as there are users are out at once; give one of both", errors);
    constexpr const char* kNoRate = "users send when their answer has come, at no rate; give one of users and this";
    refuse(scenario, {"workload.generate.arrivals"}, kNoRate, errors);
    if (rate_is_scaled(scenario)) refuse(scenario, {"workload.trace.rate_scale"}, kNoRate, errors);
  } else {
    refuse(scenario, {"workload.clients.users", "workload.clients.think_time", "workload.clients.think_cv"},
           "only the mode `users` has users, who think", errors);
    if (!scenario.is_word("workload.clients.max_concurrency", "unlimited"))
      options.places = scenario.integer("workload.clients.max_concurrency");
  }
  if (options.mode == ClientMode::open) {
    refuse(scenario, {"workload.clients.delay_scale"}, "requests wait for no answers in the mode `open`", errors);
  } else {
    options.delay_scale = scenario.real("workload.clients.delay_scale");
  }
  if (options.mode == ClientMode::sessions && rate_is_scaled(scenario)) {
    notes.push_back(fmt::format(
        "workload.trace.rate_scale = {:.6g} divides recorded times alone, not the delays after an "
        "answer{}",
        scenario.real("workload.trace.rate_scale"), options.delay_scale == 1 ? " (workload.clients.delay_scale)" : ""));
  }
  return options;
}

}  // namespace blockyard::serving
