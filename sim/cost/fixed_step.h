// Every step takes the same time, empty ones too. For tests and for studies of memory alone.
#pragma once

#include <memory>

#include "sim/cost/cost_model.h"

namespace blockyard::cost {

[[nodiscard]] std::unique_ptr<CostModel> make_fixed(SimTime step);  // step > 0

}  // namespace blockyard::cost
