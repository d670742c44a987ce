#include "sim/sched/sarathi.h"

#include <utility>

namespace blockyard::sched {

std::unique_ptr<Scheduler> make_sarathi(const RunningFirstOptions& options, kv::Allocator& memory,
                                        Restoring restoring) {
  RunningFirstOptions sarathi = options;
  sarathi.chunked_prefill = true;
  sarathi.long_prefill_token_threshold = Tokens(0);
  sarathi.reserve_full_isl = true;
  return std::make_unique<RunningFirst>(sarathi, memory, std::move(restoring));
}

}  // namespace blockyard::sched
