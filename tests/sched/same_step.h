// Two schedulers that shall take the same decisions: RapidCheck's assertions on a batch, and on what it brought. Gaps
// and the line are the caller's: how they are told depends on the path.
#pragma once

#include <rapidcheck.h>

#include "sim/sched/scheduler.h"

namespace blockyard::sched_tests {

inline void same_batch(const sched::Batch& a, const sched::Batch& b) {
  RC_ASSERT(a.decodes == b.decodes);
  RC_ASSERT(a.decode_context == b.decode_context);
  RC_ASSERT(a.decode_context_squares == b.decode_context_squares);
  RC_ASSERT(a.decode_longest == b.decode_longest);
  RC_ASSERT(a.sampled == b.sampled);
  RC_ASSERT(a.chunks.size() == b.chunks.size());
  for (std::size_t i = 0; i < a.chunks.size(); ++i) {
    RC_ASSERT(a.chunks[i].request == b.chunks[i].request);
    RC_ASSERT(a.chunks[i].fresh == b.chunks[i].fresh);
    RC_ASSERT(a.chunks[i].context == b.chunks[i].context);
    RC_ASSERT(a.chunks[i].last == b.chunks[i].last);
  }
  RC_ASSERT(a.admitted == b.admitted);
  RC_ASSERT(a.resumed == b.resumed);
  RC_ASSERT(a.preempted == b.preempted);
  RC_ASSERT(a.skipped == b.skipped);
  RC_ASSERT(a.refused_although_free == b.refused_although_free);
}

inline void same_outcome(const sched::StepOutcome& a, const sched::StepOutcome& b) {
  RC_ASSERT(a.tokens == b.tokens);
  RC_ASSERT(a.computed == b.computed);
  RC_ASSERT(a.progress == b.progress);
  RC_ASSERT(a.first_tokens == b.first_tokens);
  RC_ASSERT(a.finished.size() == b.finished.size());
  for (std::size_t i = 0; i < a.finished.size(); ++i) {
    RC_ASSERT(a.finished[i].request == b.finished[i].request);
    RC_ASSERT(a.finished[i].generated == b.finished[i].generated);
  }
  RC_ASSERT(a.restored.size() == b.restored.size());
  for (std::size_t i = 0; i < a.restored.size(); ++i) {
    RC_ASSERT(a.restored[i].request == b.restored[i].request);
    RC_ASSERT(a.restored[i].stall == b.restored[i].stall);
    RC_ASSERT(a.restored[i].waiting == b.restored[i].waiting);
  }
  RC_ASSERT(a.recomputed.size() == b.recomputed.size());
  for (std::size_t i = 0; i < a.recomputed.size(); ++i) {
    RC_ASSERT(a.recomputed[i].request == b.recomputed[i].request);
    RC_ASSERT(a.recomputed[i].tokens == b.recomputed[i].tokens);
  }
}

}  // namespace blockyard::sched_tests
