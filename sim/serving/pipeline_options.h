// What a scenario may ask of a pipeline of several stages, and over which link they talk.
#pragma once

#include <optional>

#include "sim/base/diagnostics.h"
#include "sim/model/link.h"
#include "sim/scenario/document.h"

namespace blockyard::serving {

// Nothing with one stage. `samples`: requests of several samples are asked for.
void check_pipeline(const scenario::Document& scenario, bool samples, Diagnostics& errors);
// None: stages talk as the GPUs of one server do.
[[nodiscard]] std::optional<model::LinkSpec> stage_link(const scenario::Document& scenario);

}  // namespace blockyard::serving
