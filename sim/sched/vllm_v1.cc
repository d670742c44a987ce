#include "sim/sched/vllm_v1.h"

namespace blockyard::sched {

std::unique_ptr<Scheduler> make_vllm_v1(const RunningFirstOptions& options, kv::Allocator& memory,
                                        RestoreCost* restore_cost) {
  return std::make_unique<RunningFirst>(options, memory, restore_cost);
}

}  // namespace blockyard::sched
