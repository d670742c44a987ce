#include "sim/sched/schedulers.h"

#include <array>
#include <utility>

#include "sim/kv/v0/memory.h"
#include "sim/sched/orca.h"
#include "sim/sched/sarathi.h"
#include "sim/sched/static_batching.h"
#include "sim/sched/vllm_v0.h"
#include "sim/sched/vllm_v1.h"

namespace blockyard::sched {
namespace {

using MakeOnAllocator = std::unique_ptr<Scheduler> (*)(const RunningFirstOptions&, kv::Allocator&, Restoring);

constexpr double kSarathiWatermark = 0.01;

template <MakeOnAllocator Make>
Engine on_any_allocator(const EngineOptions& options) {
  std::unique_ptr<kv::Allocator> memory = kv::make_allocator(options.strategy, options.memory);
  RunningFirstOptions batch = options.batch;
  batch.beam_search = options.memory.beams.has_value();
  if (options.watermark) {
    batch.watermark_grains =
        static_cast<std::int64_t>(*options.watermark * static_cast<double>(memory->total_grains()));
  }
  Restoring restoring{options.restore_cost, nullptr};
  if (mode_swaps(options.mode)) {
    const HostSwapOptions host{.mode = options.mode,
                               .blocks = options.host_blocks,
                               .block_size = options.memory.block_size,
                               .one_piece = options.strategy != "paged",
                               .overlap = options.overlap};
    restoring.host = std::make_unique<HostSwap>(host, *options.link, *options.restore_cost);
  }
  std::unique_ptr<Scheduler> scheduler = Make(batch, *memory, std::move(restoring));
  return {std::move(memory), std::move(scheduler)};
}

Engine make_vllm_v0(const EngineOptions& options) {
  kv::V0MemoryOptions memory;
  memory.gpu_blocks = Blocks(options.memory.capacity.count() / options.memory.block_size.count());
  memory.host_blocks = options.host_blocks;
  memory.block_size = options.memory.block_size;
  memory.contents = options.memory.contents;
  if (options.watermark) memory.watermark = *options.watermark;
  VllmV0Options v0;
  v0.max_num_seqs = options.batch.max_num_seqs;
  v0.max_num_batched_tokens = options.batch.max_num_batched_tokens;
  v0.max_model_len = options.batch.max_model_len;
  v0.chunked_prefill = options.batch.chunked_prefill;
  v0.priority = options.batch.queue_order == "priority";
  v0.preemption = options.mode == "swap" ? V0Preemption::swap : V0Preemption::recompute;
  v0.recompute_when_host_is_full = true;
  auto pool = std::make_unique<kv::V0Memory>(memory);
  auto scheduler = std::make_unique<VllmV0>(v0, *pool, options.link);
  return {std::move(pool), std::move(scheduler)};
}

struct SchedulerRow {
  const char* name;
  const char* doc;
  SchedulerTraits traits;
  Engine (*make)(const EngineOptions& options);
};

constexpr std::array kSchedulers{
    SchedulerRow{"vllm-v1",
                 "one token budget, chunked prefill, running first, preemption by recompute (vLLM 0.13)",
                 {.null_block = true, .can_fork = true, .needs_budget_for_seqs = true},
                 on_any_allocator<make_vllm_v1>},
    SchedulerRow{"vllm-v0",
                 "prefills first, preemption by recompute or swap, watermark (vLLM 0.6)",
                 {.paged_only = true,
                  .pipelines = false,
                  .own_preemption = true,
                  .own_eviction = true,
                  .whole_block_chunks = true,
                  .takes_whole_len = true,
                  .any_order = false,
                  .whole_prompts = true},
                 make_vllm_v0},
    SchedulerRow{"orca",
                 "iteration-level, whole prefill, no token budget (Yu et al., OSDI 2022)",
                 {.can_fork = true},
                 on_any_allocator<make_orca>},
    SchedulerRow{"sarathi",
                 "decodes first, then one chunk of a prompt, in a token budget (Agrawal et al., OSDI 2024)",
                 {.can_fork = true, .own_watermark = kSarathiWatermark, .needs_budget_for_seqs = true},
                 on_any_allocator<make_sarathi>},
    SchedulerRow{"static",
                 "a batch ends with its longest request before the next one is formed",
                 {.can_fork = true},
                 on_any_allocator<make_static>},
};

const SchedulerRow& row_of(std::string_view scheduler) {
  for (const SchedulerRow& row : kSchedulers) {
    if (row.name == scheduler) return row;
  }
  check_failed(__FILE__, __LINE__, "a name of the table", scheduler);
}

}  // namespace

NameDocs schedulers() {
  NameDocs docs;
  for (const SchedulerRow& row : kSchedulers) docs.push_back({row.name, row.doc});
  return docs;
}

const SchedulerTraits& traits_of(std::string_view scheduler) { return row_of(scheduler).traits; }

Engine make_engine(std::string_view scheduler, const EngineOptions& options) { return row_of(scheduler).make(options); }

}  // namespace blockyard::sched
