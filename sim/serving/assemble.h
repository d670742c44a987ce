// Scenario -> the parts of a run. All cross-key contradictions are found here, together, each at its place.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cost/constants.h"
#include "sim/cost/cost_model.h"
#include "sim/cost/host_link.h"
#include "sim/kv/memory.h"
#include "sim/metrics/collector.h"
#include "sim/model/memory_budget.h"
#include "sim/scenario/document.h"
#include "sim/sched/preemption/restore_cost.h"
#include "sim/sched/scheduler.h"
#include "sim/serving/cache_options.h"
#include "sim/serving/clients.h"
#include "sim/serving/prompt_contents.h"
#include "sim/serving/requests.h"
#include "sim/serving/router.h"
#include "sim/serving/simulation.h"
#include "sim/serving/swap_path.h"
#include "sim/serving/tier_paths.h"
#include "sim/workload/request.h"
#include "sim/workload/trace.h"

namespace blockyard::serving {

// What each replica has for itself.
struct EngineParts {
  std::unique_ptr<kv::Memory> memory;
  std::unique_ptr<cost::HostLink> host_link;  // what both of these go over
  std::unique_ptr<SwapPath> swap_path;        // where preemption may swap
  std::unique_ptr<TierPaths> tier_paths;      // where the prefix cache has tiers below the GPU
  std::unique_ptr<sched::RestoreCost> restore_cost;
  std::unique_ptr<sched::Scheduler> scheduler;
};

struct Assembly {
  std::unique_ptr<PromptContents> contents;  // with a prefix cache
  std::unique_ptr<workload::RequestSource> requests;
  ClientMode mode = ClientMode::open;
  std::unique_ptr<Clients> clients;               // between them and the engine, where answers matter
  const workload::TraceSource* trace = nullptr;   // the file behind `requests`, if there is one
  std::int64_t warm_hash_block = 0;               // tokens that ids in prefix_cache.warm stand for; 0 = it has none
  std::optional<std::int64_t> expected_requests;  // known in advance for generated ones
  std::unique_ptr<cost::CostModel> cost;          // of every replica
  std::vector<EngineParts> engines;               // by replica, alike; at least one
  std::unique_ptr<Router> router;                 // of several
  bool steps_together = false;                    // they share experts
  Blocks host_blocks;                             // of a replica, that swapped sequences go to
  bool one_block_table = true;                    // of a sequence, in which every token stays
  AdmissionOptions admission;
  RunLimits limits;
  ReplicaOptions replica;
  Tokens longest_chunk;  // of prefill, in one step
  metrics::Collector::Options metrics;
  cost::Constants constants;   // that the times come from
  metrics::Identity identity;  // names and provenance for the report
};

// The replicas of an assembly, which outlives them: once.
[[nodiscard]] Cluster make_cluster(const Assembly& a, metrics::Collector& collector);

// `requests` takes the place of the scenario's workload, `constants` that of all it says of times. Throws InputError
// with everything that is wrong.
[[nodiscard]] Assembly assemble(const scenario::Document& scenario, const std::filesystem::path& configs,
                                const RequestsOverride* requests = nullptr, const cost::Constants* constants = nullptr,
                                const CacheRecording& recording = {});

}  // namespace blockyard::serving
