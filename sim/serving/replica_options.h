// What a scenario may ask of several replicas.
#pragma once

#include "sim/base/diagnostics.h"
#include "sim/scenario/document.h"
#include "sim/serving/served.h"

namespace blockyard::serving {

// Nothing with one replica. `cached`: with a prefix cache.
void check_replicas(const scenario::Document& scenario, const Served& served, bool cached, Diagnostics& errors);

}  // namespace blockyard::serving
