// The keys of an entry of configs/models and of configs/gpus. Names are those of the fields that they fill; those of a
// Hugging Face config.json are answered with the right one.
#pragma once

#include "sim/base/named.h"
#include "sim/scenario/schema.h"

namespace blockyard::scenario {

// `element_types`: names of number formats.
[[nodiscard]] Schema model_schema(const NameDocs& element_types);
[[nodiscard]] Schema gpu_schema();

// A calibration file: constants in place of a GPU's own. `shares` and `times` name them.
[[nodiscard]] Schema calibration_schema(const NameDocs& shares, const NameDocs& times);

}  // namespace blockyard::scenario
