#include "sim/sched/vllm_v1.h"

#include <utility>

namespace blockyard::sched {

std::unique_ptr<Scheduler> make_vllm_v1(const RunningFirstOptions& options, kv::Allocator& memory,
                                        Restoring restoring) {
  return std::make_unique<RunningFirst>(options, memory, std::move(restoring));
}

}  // namespace blockyard::sched
