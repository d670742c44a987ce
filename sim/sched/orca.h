// Orca: iteration-level scheduling with whole prefills. Seats and memory alone limit the batch: there is no token
// budget, and a prompt is never cut into chunks. On contiguous memory a request's region is reserved at admission, so
// that nothing is ever preempted. Source: Yu et al., OSDI 2022; as the baseline of Kwon et al., SOSP 2023, sec. 6.1.
#pragma once

#include <memory>

#include "sim/sched/running_first.h"

namespace blockyard::sched {
[[nodiscard]] std::unique_ptr<Scheduler> make_orca(const RunningFirstOptions& options, kv::Allocator& memory,
                                                   RestoreCost* restore_cost = nullptr);
}  // namespace blockyard::sched
