// What a restore would take, by the cost model: the steps that compute a victim's tokens again beside those that decode
// now, less what these steps take without it (chunks as long as the token budget; the decodes' share of it is left
// out); or both copies over the host link, behind those under way.
#pragma once

#include "sim/cost/cost_model.h"
#include "sim/sched/preemption/restore_cost.h"
#include "sim/serving/swap_path.h"

namespace blockyard::serving {

class RestoreCost final : public sched::RestoreCost {
 public:
  // `path`: nullptr where nothing can be swapped.
  RestoreCost(cost::CostModel& cost, Tokens longest_chunk, const SwapPath* path)
      : cost_(&cost), longest_chunk_(longest_chunk), path_(path) {}

  [[nodiscard]] SimTime recompute(Tokens tokens, const sched::DecodeLoad& load) override;
  [[nodiscard]] SimTime swap(SimTime now, const sched::Copy& copy) const override {
    return path_->there_and_back(now, copy);
  }

 private:
  cost::CostModel* cost_;
  Tokens longest_chunk_;
  const SwapPath* path_;
};

}  // namespace blockyard::serving
