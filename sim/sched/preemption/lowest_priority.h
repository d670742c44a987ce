// The least urgent goes (a larger number is less urgent), of equals the last to arrive. Like the engine's own rule
// under queue_order: priority, but without its quirks: victims are chosen before anybody is given tokens.
#pragma once

#include "sim/sched/preemption/victim.h"

namespace blockyard::sched {

class LowestPriority final : public VictimPolicy {
 public:
  [[nodiscard]] Rank rank(const Candidate& c) const override {
    return {c.request->priority, c.request->arrival.count()};
  }
};

}  // namespace blockyard::sched
