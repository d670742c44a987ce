#include "sim/sched/vllm_v1.h"

namespace blockyard::sched {

std::unique_ptr<Scheduler> make_vllm_v1(const RunningFirstOptions& options, kv::Allocator& memory) {
  return std::make_unique<RunningFirst>(options, memory);
}

}  // namespace blockyard::sched
