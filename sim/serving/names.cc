#include "sim/serving/names.h"

#include <algorithm>
#include <fstream>
#include <string_view>

#include "sim/kv/allocator/strategies.h"
#include "sim/kv/eviction/policies.h"
#include "sim/model/element_type.h"
#include "sim/sched/preemption/victim.h"
#include "sim/sched/schedulers.h"
#include "sim/sched/waiting_queue.h"
#include "sim/workload/generator.h"
#include "sim/workload/max_tokens.h"
#include "sim/workload/trace_formats.h"

namespace blockyard::serving {
namespace {

// The entries of a folder of YAML files, each described by the first line of its opening comment.
NameDocs entries_of(const std::filesystem::path& folder) {
  NameDocs names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream file(entry.path());
    std::string line;
    std::getline(file, line);
    const std::size_t text = line.find_first_not_of("# ");
    names.push_back({entry.path().stem().string(), text == std::string::npos ? "" : line.substr(text)});
  }
  std::sort(names.begin(), names.end(), [](const NameDoc& a, const NameDoc& b) { return a.name < b.name; });
  return names;
}

template <class Rows>
NameDocs docs_of(const Rows& rows) {
  NameDocs docs;
  for (const auto& row : rows) docs.push_back({std::string(row.name), std::string(row.doc)});
  return docs;
}

scenario::Vocabulary vocabulary(const std::filesystem::path& configs) {
  return {.models = entries_of(configs / "models"),
          .gpus = entries_of(configs / "gpus"),
          .trace_formats = docs_of(workload::trace_formats()),
          .arrival_processes = docs_of(workload::arrival_processes()),
          .length_distributions = docs_of(workload::length_distributions()),
          .max_tokens_rules = docs_of(workload::max_tokens_rules()),
          .schedulers = sched::schedulers(),
          .queue_orders = sched::queue_orders(),
          .strategies = kv::strategies(),
          .reservations = kv::reservations(),
          .placements = kv::placements(),
          .evictions = kv::evictions(),
          .kv_dtypes = model::kv_element_types(),
          .preemption_modes = {{"recompute", "its KV is dropped and computed again"},
                               {"swap", "its KV goes to the host and comes back (vllm-v0)"}},
          .victims = sched::victims(),
          .cost_models = {{"roofline", "per kernel, from the constants of the GPU's entry"},
                          {"fixed", "every step takes cost.step"}}};
}

}  // namespace

std::vector<NameTable> name_tables(const std::filesystem::path& configs) {
  const scenario::Vocabulary v = vocabulary(configs);
  return {{"models", v.models},
          {"gpus", v.gpus},
          {"schedulers", v.schedulers},
          {"queue_orders", v.queue_orders},
          {"strategies", v.strategies},
          {"reservations", v.reservations},
          {"placements", v.placements},
          {"evictions", v.evictions},
          {"formats", v.trace_formats},
          {"arrival_processes", v.arrival_processes},
          {"length_distributions", v.length_distributions},
          {"max_tokens_rules", v.max_tokens_rules},
          {"kv_dtypes", v.kv_dtypes},
          {"preemption_modes", v.preemption_modes},
          {"victims", v.victims},
          {"cost_models", v.cost_models}};
}

scenario::Schema scenario_schema(const std::filesystem::path& configs) {
  return scenario::scenario_schema(vocabulary(configs));
}

}  // namespace blockyard::serving
