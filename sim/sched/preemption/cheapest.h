// Whichever brings the victim back sooner; of equals recompute, which leaves the link alone.
#pragma once

#include "sim/sched/preemption/mode.h"

namespace blockyard::sched {

class CheapestMode final : public PreemptionMode {
 public:
  [[nodiscard]] Way choose(const RestoreTimes& times) const override {
    return times.swap < times.recompute ? Way::swap : Way::recompute;
  }
  [[nodiscard]] bool asks_for_times() const override { return true; }
};

}  // namespace blockyard::sched
