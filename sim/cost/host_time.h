// The host's own time in every step (scheduling, preparing inputs, sampling on the host, handing out results), on top
// of another model's: what an engine pays that does not plan the next step while one runs. The constants of the GPUs
// hold none: engines with asynchronous scheduling hide it. Profiles of vLLM's first versions say 2-4 ms a step (Vidur,
// profiling of CPU overheads, 2024).
#pragma once

#include <memory>

#include "sim/cost/cost_model.h"

namespace blockyard::cost {

[[nodiscard]] std::unique_ptr<CostModel> with_host_time(std::unique_ptr<CostModel> gpu, SimTime host);

}  // namespace blockyard::cost
