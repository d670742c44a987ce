// Who has computed fewest tokens goes: the least work is lost, whatever memory is held (they differ where regions are
// reserved).
#pragma once

#include "sim/sched/preemption/victim.h"

namespace blockyard::sched {

class LeastComputed final : public VictimPolicy {
 public:
  [[nodiscard]] Rank rank(const Candidate& c) const override { return {-c.computed.count(), 0}; }
};

}  // namespace blockyard::sched
