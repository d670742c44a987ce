// The victim's KV is dropped and computed again, its generated tokens as part of the prompt.
#pragma once

#include "sim/sched/preemption/mode.h"

namespace blockyard::sched {

class RecomputeMode final : public PreemptionMode {
 public:
  [[nodiscard]] Way choose(const RestoreTimes& /*times*/) const override { return Way::recompute; }
};

}  // namespace blockyard::sched
