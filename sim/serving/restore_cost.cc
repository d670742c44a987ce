#include "sim/serving/restore_cost.h"

#include <algorithm>

namespace blockyard::serving {

SimTime RestoreCost::recompute(Tokens tokens, const sched::DecodeLoad& load) {
  cost::StepWork decodes;
  decodes.decode_sequences = decodes.sampled_sequences = load.sequences;
  decodes.decode_kv_tokens = load.context;
  const SimTime without = load.sequences > 0 ? cost_->step(decodes) : SimTime(0);
  SimTime time;
  for (Tokens done; done < tokens;) {
    const Tokens chunk = std::min(longest_chunk_, tokens - done);
    cost::StepWork work = decodes;
    cost_->add_chunk(work, chunk, done);
    time += cost_->step(work) - without;
    done += chunk;
  }
  return time;
}

}  // namespace blockyard::serving
