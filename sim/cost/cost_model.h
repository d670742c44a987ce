// How long a step takes: from plain sums over its batch to nanoseconds. Law: the empty batch aside, a step takes >= 1
// ns, and more work never takes less time. Cost: O(1) a step, whatever the batch; rounded once, at the end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "sim/base/quantities.h"

namespace blockyard::cost {

// The work of one step; all zero = an empty step.
struct StepWork {
  std::int64_t decode_sequences = 0;   // sequences that compute one new token on top of a KV context
  std::int64_t decode_kv_tokens = 0;   // sum of their context lengths, the new token included
  std::int64_t decode_longest = 0;     // the longest of them; 0 where only sums are known
  std::int64_t prefill_sequences = 0;  // chunks
  std::int64_t prefill_tokens = 0;     // sum of the chunks' lengths n
  double prefill_pairs = 0;  // query-key pairs of a layer on average: sum of n*c + n*n/2 (c = context before the
                             // chunk), less where windows end, and what the part of the GPU that the kernel leaves idle
                             // could have done; add_chunk knows it
  std::int64_t prefill_kv_tokens = 0;  // tokens whose KV the chunks read: sum of c + n, less where windows end
  std::int64_t sampled_sequences = 0;  // sequences that yield a token in this step: rows of the output head

  [[nodiscard]] bool empty() const { return decode_sequences == 0 && prefill_tokens == 0; }
};

// The step's decodes alone: each yields a token.
[[nodiscard]] inline StepWork decodes_of(const StepWork& work) {
  StepWork decodes;
  decodes.decode_sequences = work.decode_sequences;
  decodes.decode_kv_tokens = work.decode_kv_tokens;
  decodes.decode_longest = work.decode_longest;
  decodes.sampled_sequences = work.decode_sequences;
  return decodes;
}

// A step's time, and what of it a decode and a chunk would have taken alone: integers, so that shares of it add up.
struct StepTime {
  SimTime total;
  SimTime decodes_alone;  // the step with its decodes and nothing else; 0 without decodes
  SimTime overhead;       // what every step costs, whatever its work
};

// What a stage of a pipeline spends on a batch: computing it, then sending it on, which the next stage waits for.
struct StagePass {
  SimTime computes;
  SimTime sends;
};

class CostModel {
 public:
  CostModel() = default;
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;
  virtual ~CostModel() = default;

  // Adds one chunk of `fresh` tokens on top of `context`. Leaves sampled_sequences alone: whether a chunk ends its
  // prefill is not known here.
  virtual void add_chunk(StepWork& work, Tokens fresh, Tokens context) const = 0;
  // Fills its tables as sizes occur, hence not const; the result does not depend on what was asked before.
  [[nodiscard]] virtual SimTime step(const StepWork& work) = 0;
  [[nodiscard]] StepTime step_time(const StepWork& work) {
    StepTime time{step(work), SimTime(0), overhead()};
    if (work.decode_sequences == 0) return time;
    time.decodes_alone = time.total;
    if (work.prefill_tokens > 0) time.decodes_alone = step(decodes_of(work));
    return time;
  }
  // Groups of GPUs that every batch passes, one after the other: as long as each works on another batch, there are
  // several under way (serving/pipeline.h). step() is then a batch's way through all of them when nothing else is.
  [[nodiscard]] virtual std::int64_t stages() const { return 1; }
  // Of a batch with work: what each stage spends on it, all together step(work). `passes` has one entry a stage.
  virtual void stage_passes(const StepWork& work, std::span<StagePass> passes) { passes[0] = {step(work), SimTime(0)}; }
  // Replicas that share the experts of a model take their steps together: how long, from the work of each, empty where
  // one has nothing to do. step() is then such a step in which one of them alone has work.
  [[nodiscard]] virtual SimTime joint_step(std::span<const StepWork> works) {
    SimTime longest = empty_step();
    for (const StepWork& work : works) {
      if (!work.empty()) longest = std::max(longest, step(work));
    }
    return longest;
  }
  // The fixed part of a step's time that no work explains.
  [[nodiscard]] virtual SimTime overhead() const { return SimTime(0); }
  // What the engine spends on a step in which nothing runs; > 0, so that simulated time advances.
  [[nodiscard]] virtual SimTime empty_step() const = 0;
  // One line for the report: which constants, from where, with what error.
  [[nodiscard]] virtual std::string provenance() const = 0;
};

}  // namespace blockyard::cost
