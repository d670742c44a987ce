// Sarathi-Serve: stall-free batching. A step has a token budget (max_num_batched_tokens, the paper's chunk size, 512 or
// 2,048 there): every running decode gets its token first, then the one prompt that is under way gets its next chunk,
// then new ones come in with what is left. RunningFirst does so by itself: only the last admitted can be in the middle
// of its prompt, since nobody is admitted behind a prompt that has used the budget up. Prompts are always chunked, and
// a request comes in only while there is memory for its whole prompt and 1 % of the pool beside it, as in the block
// manager of vLLM 0.2 that the system was built on. Preemption by recompute, the last admitted first.
// Source: Agrawal et al., OSDI 2024, algorithm 3.
#pragma once

#include <memory>

#include "sim/sched/running_first.h"

namespace blockyard::sched {
[[nodiscard]] std::unique_ptr<Scheduler> make_sarathi(const RunningFirstOptions& options, kv::Allocator& memory,
                                                      Restoring restoring = {});
}  // namespace blockyard::sched
