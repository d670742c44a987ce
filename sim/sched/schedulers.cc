#include "sim/sched/schedulers.h"

#include <array>

#include "sim/sched/orca.h"
#include "sim/sched/vllm_v1.h"

namespace blockyard::sched {
namespace {

struct SchedulerRow {
  const char* name;
  const char* doc;
  std::unique_ptr<Scheduler> (*make)(const RunningFirstOptions& options, kv::Allocator& memory);
};

constexpr std::array kSchedulers{
    SchedulerRow{"vllm-v1", "one token budget, chunked prefill, running first, preemption by recompute (vLLM 0.13)",
                 make_vllm_v1},
    SchedulerRow{"orca", "iteration-level, whole prefill, no token budget (Yu et al., OSDI 2022)", make_orca},
};

}  // namespace

NameDocs schedulers() {
  NameDocs docs;
  for (const SchedulerRow& row : kSchedulers) docs.push_back({row.name, row.doc});
  return docs;
}

std::unique_ptr<Scheduler> make_scheduler(std::string_view scheduler, const RunningFirstOptions& options,
                                          kv::Allocator& memory) {
  for (const SchedulerRow& row : kSchedulers) {
    if (row.name == scheduler) return row.make(options, memory);
  }
  check_failed(__FILE__, __LINE__, "a name of the table", scheduler);
}

}  // namespace blockyard::sched
