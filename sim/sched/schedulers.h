// The table of schedulers: the names a scenario may use, in one place, each with the memory that it works on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/named.h"
#include "sim/kv/allocator/strategies.h"
#include "sim/kv/memory.h"
#include "sim/sched/running_first.h"
#include "sim/sched/scheduler.h"

namespace blockyard::sched {

// What all schedulers are made from; each takes what it knows and fixes the rest.
struct EngineOptions {
  RunningFirstOptions batch;
  std::string_view strategy = "paged";
  kv::MemoryOptions memory;
  std::optional<double> watermark;      // share kept free at admission; none = the engine's own rule
  std::string_view mode = "recompute";  // a name of preemption_modes()
  bool overlap = false;                 // copies do not hold up the step
  Blocks host_blocks;                   // of the pool that swaps go to
  RestoreCost* restore_cost = nullptr;  // these two outlive the engine
  KvLink* link = nullptr;               // of modes that swap
};

struct Engine {
  std::unique_ptr<kv::Memory> memory;
  std::unique_ptr<Scheduler> scheduler;
};

struct SchedulerTraits {
  bool null_block = false;             // one block of the pool is the engine's own
  bool paged_only = false;             // works on paged memory alone
  bool pipelines = true;               // keeps several batches under way
  bool own_preemption = false;         // knows recompute and swap, and its victims are part of its rules
  bool own_eviction = false;           // evicts cached blocks by an order of its own
  bool whole_block_chunks = false;     // under its prefix cache a chunk of prefill is whole blocks
  bool can_fork = false;               // runs requests of several samples or beams
  bool takes_whole_len = false;        // admits a prompt of max_model_len tokens; others need room for one token more
  bool any_order = true;               // false: fcfs and priority alone
  double own_watermark = 0;            // share kept free at admission unless told otherwise, by the common test
  bool needs_budget_for_seqs = false;  // refuses to start with a token budget below the number of seats
  bool whole_prompts = false;          // chunked prefill is not its own default
};

[[nodiscard]] NameDocs schedulers();
[[nodiscard]] const SchedulerTraits& traits_of(std::string_view scheduler);
// `scheduler` is a name of schedulers().
[[nodiscard]] Engine make_engine(std::string_view scheduler, const EngineOptions& options);

}  // namespace blockyard::sched
