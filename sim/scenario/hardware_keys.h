// The keys of an entry of configs/models and of configs/gpus.
#pragma once

#include "sim/scenario/schema.h"

namespace blockyard::scenario {

// Names as in a Hugging Face config.json.
[[nodiscard]] Schema model_schema();
[[nodiscard]] Schema gpu_schema();

}  // namespace blockyard::scenario
