// The last to arrive goes: first come, first served among those that run, whatever their order of admission.
#pragma once

#include "sim/sched/preemption/victim.h"

namespace blockyard::sched {

class Latest final : public VictimPolicy {
 public:
  [[nodiscard]] Rank rank(const Candidate& c) const override { return {c.request->arrival.count(), 0}; }
};

}  // namespace blockyard::sched
