#include "sim/sched/static_batching.h"

#include <limits>
#include <utility>

namespace blockyard::sched {

std::unique_ptr<Scheduler> make_static(const RunningFirstOptions& options, kv::Allocator& memory, Restoring restoring) {
  RunningFirstOptions whole = options;
  whole.max_num_batched_tokens = Tokens(std::numeric_limits<std::int64_t>::max() / 4);
  whole.long_prefill_token_threshold = Tokens(0);
  whole.chunked_prefill = false;
  whole.whole_batches = true;
  return std::make_unique<RunningFirst>(whole, memory, std::move(restoring));
}

}  // namespace blockyard::sched
