#include "sim/serving/replica_options.h"

#include <fmt/format.h>

namespace blockyard::serving {
namespace {

// Replicas that take their steps together.
void check_sharing(const scenario::Document& scenario, const Served& s, Diagnostics& errors) {
  const auto refuse = [&](const char* key, const char* expected) {
    errors.add(scenario.place(key), fmt::format("{}: expected {} where {} replicas share the experts of {}", key,
                                                expected, s.replicas, s.model.name));
  };
  if (s.stages > 1) refuse("hardware.pipeline_parallel_size", "1");
  if (scenario.choice("kv_cache.strategy") == "none") refuse("kv_cache.strategy", "memory");
  if (scenario.boolean("hardware.enable_expert_parallel")) return;
  const std::int64_t gpus = s.tensor_parallel * s.replicas;
  for (const model::MlpGroup& group : model::mlp_groups(s.model)) {
    if (!group.is_moe() || group.intermediate_size % gpus == 0) continue;
    errors.add(
        scenario.place("hardware.data_parallel_size"),
        fmt::format("hardware.data_parallel_size: {} replicas of {} GPUs do not divide the {} columns of an expert "
                    "of {}; expected hardware.enable_expert_parallel: true, or fewer",
                    s.replicas, s.tensor_parallel, group.intermediate_size, s.model.name));
  }
}

}  // namespace

void check_replicas(const scenario::Document& scenario, const Served& s, bool cached, Diagnostics& errors) {
  if (s.replicas == 1) return;
  if (s.shares_experts()) check_sharing(scenario, s, errors);
  if (cached && scenario.choice("prefix_cache.eviction") == "opt") {
    errors.add(scenario.place("prefix_cache.eviction"),
               fmt::format("prefix_cache.eviction: opt is told the lookups of one pool; expected another with {} "
                           "replicas",
                           s.replicas));
  }
  if (scenario.boolean("output.memory_events")) {
    errors.add(
        scenario.place("output.memory_events"),
        fmt::format("output.memory_events: memory.csv tells of one pool; expected false with {} replicas", s.replicas));
  }
}

}  // namespace blockyard::serving
