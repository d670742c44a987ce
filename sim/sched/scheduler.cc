#include "sim/sched/scheduler.h"

#include <algorithm>

namespace blockyard::sched {

void Batch::clear() {
  decodes = decode_context = decode_context_squares = decode_longest = sampled = 0;
  chunks.clear();
  decoding.clear();
  cohort.reset();
  admitted.clear();
  resumed.clear();
  preempted.clear();
  skipped.clear();
  fetching.clear();
  swapped_out.clear();
  swapped_in.clear();
  held_until = SimTime(0);
  ignored.clear();
  failure = "";
  looked_up = hit = looked_up_resumed = hit_resumed = 0;
  refused_although_free = 0;
  head = RequestId{};
  head_waits_for = QueueCause::seat;
}

void StepOutcome::clear() {
  tokens = computed = shared_gap = 0;
  gaps.clear();
  first_tokens.clear();
  joined.clear();
  finished.clear();
  restored.clear();
  recomputed.clear();
  progress = false;
}

kv::SequenceNeed need_of(const workload::Request& request, Tokens longest) {
  const Tokens room = longest - request.prompt_tokens;
  const Tokens declared = std::max(Tokens(1), std::min(request.max_tokens, room));
  const Tokens output = std::max(Tokens(1), std::min(request.output_tokens, declared));
  return {request.prompt_tokens, request.prompt_tokens + output - Tokens(1),
          request.prompt_tokens + declared - Tokens(1), request.samples};
}

}  // namespace blockyard::sched
