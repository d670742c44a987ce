// Who would be back at its computed length soonest goes: by recompute or by swap, whichever the mode would take for it,
// at the present load and behind the copies that are under way.
#pragma once

#include "sim/sched/preemption/victim.h"

namespace blockyard::sched {

class CheapestToRestore final : public VictimPolicy {
 public:
  [[nodiscard]] Rank rank(const Candidate& c) const override { return {-c.restore.count(), 0}; }
  [[nodiscard]] bool asks_for_restore_time() const override { return true; }
};

}  // namespace blockyard::sched
