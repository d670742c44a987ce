// Who holds least memory goes: little is lost, but a shortage may take several.
#pragma once

#include "sim/sched/preemption/victim.h"

namespace blockyard::sched {

class Smallest final : public VictimPolicy {
 public:
  [[nodiscard]] Rank rank(const Candidate& c) const override { return {-c.grains, 0}; }
};

}  // namespace blockyard::sched
