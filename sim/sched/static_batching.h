// Request-level (static) batching: a batch is formed of as many waiting requests as seats and memory take, its prompts
// are computed in one step, and it decodes until its longest request has ended; only then is the next one formed. The
// seats of those that have ended stand idle meanwhile, and everybody else waits for a seat. Tokens stream as they come
// and memory is free when its request ends, which a batch that returns as a whole would delay; padding of short prompts
// to the longest is not charged. As FasterTransformer served, the baseline of Yu et al., OSDI 2022, sec. 2.
#pragma once

#include <memory>

#include "sim/sched/running_first.h"

namespace blockyard::sched {
[[nodiscard]] std::unique_ptr<Scheduler> make_static(const RunningFirstOptions& options, kv::Allocator& memory,
                                                     Restoring restoring = {});
}  // namespace blockyard::sched
