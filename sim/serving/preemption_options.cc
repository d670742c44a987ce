#include "sim/serving/preemption_options.h"

#include <fmt/format.h>

#include <string>

#include "sim/sched/preemption/mode.h"

namespace blockyard::serving {
namespace {

using scenario::Document;

// A reader of a stream of tokens takes a longer silence for a stall.
constexpr SimTime kDefaultGapThreshold(kNanosecondsPerSecond);

}  // namespace

SimTime gap_threshold(const Document& scenario) {
  if (!scenario.is_word("output.gap_threshold", "auto")) return scenario.time("output.gap_threshold");
  return scenario.has_value("slo.tpot") ? scenario.time("slo.tpot") : kDefaultGapThreshold;
}

model::LinkSpec host_link(const Document& scenario, const model::GpuSpec& gpu) {
  const std::string section = "hardware.links.host.";
  model::LinkSpec link;
  link.bytes_per_s = scenario.is_word(section + "bandwidth", "auto") ? gpu.pcie_bytes_per_s
                                                                     : scenario.bandwidth(section + "bandwidth");
  link.latency_s = to_seconds(scenario.time(section + "latency"));
  link.per_piece_s = to_seconds(scenario.time(section + "copy_overhead"));
  link.shared = scenario.boolean(section + "shared");
  return link;
}

void preemption_options(const Document& scenario, sched::EngineOptions& options, Diagnostics& errors) {
  const std::string& scheduler = scenario.choice("engine.scheduler");
  const bool own = sched::traits_of(scheduler).own_preemption;
  options.batch.victim = scenario.choice("preemption.victim");
  options.mode = scenario.choice("preemption.mode");
  if (sched::mode_swaps(options.mode)) options.overlap = scenario.boolean("preemption.overlap");
  const bool tail_blocks = scenario.boolean("preemption.tail_blocks");
  const auto wrong = [&](const char* key, const std::string& why) {
    errors.add(scenario.place(key), fmt::format("{}: {}", key, why));
  };
  if (own && options.batch.victim != "engine") {
    wrong("preemption.victim", fmt::format("{} has a rule of its own; expected engine", scheduler));
  }
  if (own && options.mode == "cheapest") {
    wrong("preemption.mode", fmt::format("{} knows recompute and swap", scheduler));
  }
  if (own && options.overlap) {
    wrong("preemption.overlap", fmt::format("copies of {} hold up its steps; expected false", scheduler));
  }
  if (!tail_blocks) return;
  if (own) wrong("preemption.tail_blocks", fmt::format("{} preempts whole requests; expected false", scheduler));
  if (options.strategy != "paged") {
    wrong("preemption.tail_blocks", "only paged memory has last blocks to give; kv_cache.strategy: paged");
  }
  if (scenario.boolean("output.memory_events")) {
    wrong("preemption.tail_blocks", "memory.csv knows no victims that lose a part; output.memory_events: false");
  }
  if (options.overlap) {
    wrong("preemption.tail_blocks", "copies of parts hold up the step; preemption.overlap: false");
  }
  options.batch.tail_blocks = options.memory.block_size;
}

}  // namespace blockyard::serving
