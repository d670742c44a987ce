// The victim's KV goes to the host and comes back.
#pragma once

#include "sim/sched/preemption/mode.h"

namespace blockyard::sched {

class SwapMode final : public PreemptionMode {
 public:
  [[nodiscard]] Way choose(const RestoreTimes& /*times*/) const override { return Way::swap; }
};

}  // namespace blockyard::sched
