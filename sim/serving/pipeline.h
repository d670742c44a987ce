// When batches leave a pipeline. A stage works on one batch at a time, in the order in which they entered the first: a
// batch enters a stage when the stage before has computed it and sent it on, and the batch ahead has left the stage.
//
//   begin(i, s) = max(end(i, s - 1), end(i - 1, s)); end = begin + computing + sending
//
// Law: over the time in which at least one batch is under way, stages x time = computing + sending + idle, in integer
// nanoseconds; the idle part are the bubbles. Cost: O(stages) a batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/quantities.h"
#include "sim/cost/cost_model.h"

namespace blockyard::serving {

class Pipeline {
 public:
  explicit Pipeline(std::int64_t stages) : free_from_(static_cast<std::size_t>(stages)) {}

  // A batch comes to the first stage at `now`, not before the one ahead; returns when it leaves the last.
  SimTime enter(SimTime now, std::span<const cost::StagePass> passes) {
    SimTime at = now;
    for (std::size_t stage = 0; stage < free_from_.size(); ++stage) {
      at = std::max(at, free_from_[stage]) + passes[stage].computes + passes[stage].sends;
      free_from_[stage] = at;
    }
    return at;
  }

 private:
  std::vector<SimTime> free_from_;  // by stage: the batches so far have left it
};

}  // namespace blockyard::serving
