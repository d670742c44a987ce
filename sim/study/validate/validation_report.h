// A validation for people and for programs (schema "blockyard.validation/1", described in sim/study/README.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/study/validate/validate.h"

namespace blockyard::study {

// Requests that the measured server served and the simulated one did not, or not whole, by reason; empty if there are
// none.
[[nodiscard]] std::string print_not_served(const Validation& validation);
// What was read of the measured file, what its prompts are known to share, and which rows had to be left out.
[[nodiscard]] std::string print_measured_file(const MeasuredFile& file);
[[nodiscard]] std::string print_validation(const Validation& validation);
[[nodiscard]] nlohmann::ordered_json validation_json(const Validation& validation);

}  // namespace blockyard::study
