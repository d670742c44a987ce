// Who holds most memory goes: one victim frees much, and loses much.
#pragma once

#include "sim/sched/preemption/victim.h"

namespace blockyard::sched {

class Largest final : public VictimPolicy {
 public:
  [[nodiscard]] Rank rank(const Candidate& c) const override { return {c.grains, 0}; }
};

}  // namespace blockyard::sched
