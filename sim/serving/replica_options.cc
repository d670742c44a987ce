#include "sim/serving/replica_options.h"

#include <fmt/format.h>

#include <algorithm>

namespace blockyard::serving {

void check_replicas(const scenario::Document& scenario, const model::ModelSpec& model, bool cached,
                    Diagnostics& errors) {
  constexpr const char* kSize = "hardware.data_parallel_size";
  const std::int64_t replicas = scenario.integer(kSize);
  if (replicas == 1) return;
  if (std::ranges::any_of(model::mlp_groups(model), &model::MlpGroup::is_moe)) {
    errors.add(scenario.place(kSize),
               fmt::format("{}: the replicas of {} would share its experts and step together, which is not modelled; "
                           "expected 1",
                           kSize, model.name));
  }
  if (cached && scenario.choice("prefix_cache.eviction") == "opt") {
    errors.add(scenario.place("prefix_cache.eviction"),
               fmt::format("prefix_cache.eviction: opt is told the lookups of one pool; expected another with {} "
                           "replicas",
                           replicas));
  }
  if (scenario.boolean("output.memory_events")) {
    errors.add(
        scenario.place("output.memory_events"),
        fmt::format("output.memory_events: memory.csv tells of one pool; expected false with {} replicas", replicas));
  }
}

}  // namespace blockyard::serving
