// The scenario's `workload.generate` section -> what a generator is made of.
#pragma once

#include <optional>

#include "sim/base/diagnostics.h"
#include "sim/scenario/document.h"
#include "sim/workload/generator.h"

namespace blockyard::serving {

// None where something is wrong with it, which goes to `errors`.
[[nodiscard]] std::optional<workload::GeneratorSpec> generator_spec(const scenario::Document& scenario,
                                                                    Diagnostics& errors);

}  // namespace blockyard::serving
