// What a restore would take, by the cost model: the steps that compute a victim's tokens again beside those that decode
// now, less what these steps take without it. Chunks as long as the token budget; the decodes' share of it is left out.
#pragma once

#include "sim/cost/cost_model.h"
#include "sim/sched/preemption/restore_cost.h"

namespace blockyard::serving {

class RestoreCost final : public sched::RestoreCost {
 public:
  RestoreCost(cost::CostModel& cost, Tokens longest_chunk) : cost_(&cost), longest_chunk_(longest_chunk) {}

  [[nodiscard]] SimTime recompute(Tokens tokens, const sched::DecodeLoad& load) override;

 private:
  cost::CostModel* cost_;
  Tokens longest_chunk_;
};

}  // namespace blockyard::serving
