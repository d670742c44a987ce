// What a scenario may ask of several replicas.
#pragma once

#include "sim/base/diagnostics.h"
#include "sim/model/model_spec.h"
#include "sim/scenario/document.h"

namespace blockyard::serving {

// Nothing with one replica. `cached`: with a prefix cache.
void check_replicas(const scenario::Document& scenario, const model::ModelSpec& model, bool cached,
                    Diagnostics& errors);

}  // namespace blockyard::serving
