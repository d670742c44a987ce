#include "sim/sched/orca.h"

#include <limits>

namespace blockyard::sched {

std::unique_ptr<Scheduler> make_orca(const RunningFirstOptions& options, kv::Allocator& memory,
                                     RestoreCost* restore_cost) {
  RunningFirstOptions orca = options;
  orca.max_num_batched_tokens = Tokens(std::numeric_limits<std::int64_t>::max() / 4);
  orca.long_prefill_token_threshold = Tokens(0);
  orca.chunked_prefill = false;
  return std::make_unique<RunningFirst>(orca, memory, restore_cost);
}

}  // namespace blockyard::sched
