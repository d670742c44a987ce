// What of a model the roofline times by a rule that no measurement here stands behind, in words for the report: number
// formats of its weights, layers that are not plain attention, experts. Nothing for a dense model of 16-bit weights and
// full attention. What is not timed at all is named too.
#pragma once

#include <string>
#include <vector>

#include "sim/cost/calibration.h"
#include "sim/model/model_spec.h"

namespace blockyard::cost {

[[nodiscard]] std::vector<std::string> assumptions(const model::ModelSpec& spec, const model::GpuSpec& gpu,
                                                   const Calibration& calibration);

}  // namespace blockyard::cost
