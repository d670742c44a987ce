// Who has most output still to come goes: it would hold its memory longest. An oracle: no engine knows it.
#pragma once

#include "sim/sched/preemption/victim.h"

namespace blockyard::sched {

class MostRemaining final : public VictimPolicy {
 public:
  [[nodiscard]] Rank rank(const Candidate& c) const override { return {c.remaining.count(), 0}; }
};

}  // namespace blockyard::sched
