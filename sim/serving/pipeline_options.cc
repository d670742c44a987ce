#include "sim/serving/pipeline_options.h"

#include <fmt/format.h>

#include "sim/sched/schedulers.h"
#include "sim/serving/tier_options.h"

namespace blockyard::serving {

void check_pipeline(const scenario::Document& scenario, bool samples, Diagnostics& errors) {
  constexpr const char* kSize = "hardware.pipeline_parallel_size";
  if (scenario.integer(kSize) == 1) return;
  const auto refuse = [&](const char* key, const std::string& expected) {
    errors.add(scenario.place(key),
               fmt::format("{}: expected {} with {} stages", key, expected, scenario.integer(kSize)));
  };
  const std::string& scheduler = scenario.choice("engine.scheduler");
  if (!sched::traits_of(scheduler).pipelines) {
    errors.add(scenario.place("engine.scheduler"),
               fmt::format("engine.scheduler: {} has a scheduler and a share of the pool for each stage, which is not "
                           "modelled; expected another with {} stages",
                           scheduler, scenario.integer(kSize)));
  }
  if (scenario.choice("kv_cache.strategy") == "none") refuse("kv_cache.strategy", "memory");
  if (scenario.choice("preemption.mode") != "recompute") refuse("preemption.mode", "recompute");
  if (scenario.choice("preemption.victim") != "engine") refuse("preemption.victim", "engine");
  if (scenario.boolean("preemption.tail_blocks")) refuse("preemption.tail_blocks", "false");
  if (asks_tiers(scenario)) refuse("prefix_cache.tiers", "none");
  if (samples) refuse("workload.n", "one sample a request");
  if (!scenario.is_word("engine.async_scheduling", "auto") && scenario.boolean("engine.async_scheduling")) {
    refuse("engine.async_scheduling", "false");
  }
}

std::optional<model::LinkSpec> stage_link(const scenario::Document& scenario) {
  if (scenario.is_word("hardware.links.stage.bandwidth", "auto")) return std::nullopt;
  return model::LinkSpec{.bytes_per_s = scenario.bandwidth("hardware.links.stage.bandwidth"),
                         .latency_s = to_seconds(scenario.time("hardware.links.stage.latency"))};
}

}  // namespace blockyard::serving
