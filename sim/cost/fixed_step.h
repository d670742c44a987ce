// Every step takes the same time, empty ones too; the stages of a pipeline share it evenly. For tests and for studies
// of memory alone.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/cost/cost_model.h"

namespace blockyard::cost {

// step >= stages, in ns.
[[nodiscard]] std::unique_ptr<CostModel> make_fixed(SimTime step, std::int64_t stages = 1);

}  // namespace blockyard::cost
