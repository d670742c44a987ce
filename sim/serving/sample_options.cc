#include "sim/serving/sample_options.h"

#include <fmt/format.h>

#include <cstdint>

namespace blockyard::serving {

using scenario::Document;

bool asks_beams(const Document& scenario) { return scenario.choice("workload.decoding") == "beam_search"; }

void sample_options(const Document& scenario, bool cached, sched::EngineOptions& options,
                    std::vector<std::string>& notes, Diagnostics& errors) {
  const bool beams = asks_beams(scenario);
  const std::string& scheduler = scenario.choice("engine.scheduler");
  if (!sched::traits_of(scheduler).can_fork) {
    notes.push_back(fmt::format(
        "{} makes a request of each of the n samples, as vLLM 0.6.6 does: figures of requests are those of samples",
        scheduler));
    if (beams) {
      errors.add(scenario.place("workload.decoding"),
                 fmt::format("workload.decoding: {} runs no beams; vllm-v1 and orca do", scheduler));
    }
    return;
  }
  options.memory.forks = true;
  if (beams) {
    options.memory.beams =
        kv::BeamModel{scenario.real("workload.beam_switch"), static_cast<std::uint64_t>(scenario.integer("seed"))};
  }
  const bool grows = options.strategy == "contiguous" && options.memory.reservation == "grow";
  if (grows || options.strategy == "virtual") {
    errors.add(scenario.place("kv_cache.strategy"),
               "kv_cache.strategy: several samples a request run on paged memory, none, and contiguous regions that do "
               "not grow; workload.n: 1 leaves one");
  }
  if (scenario.boolean("output.memory_events")) {
    errors.add(scenario.place("output.memory_events"),
               "output.memory_events: not told where requests have several samples; workload.n: 1 leaves one");
  }
  if (cached && beams) {
    errors.add(scenario.place("prefix_cache.enable"),
               "prefix_cache.enable: not combined with beams, which share blocks by their tree; expected "
               "prefix_cache.enable: false or workload.decoding: sample");
  }
}

}  // namespace blockyard::serving
