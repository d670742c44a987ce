// The scenario's `slo` section -> limits, classes with limits of their own, and which requests are of which class.
#pragma once

#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/metrics/slo.h"
#include "sim/scenario/document.h"
#include "sim/serving/requests.h"

namespace blockyard::serving {

[[nodiscard]] metrics::Slo slo(const scenario::Document& scenario);
// In the scenario's order; a limit that a class does not give is that of `slo` itself.
[[nodiscard]] std::vector<metrics::SloClass> slo_classes(const scenario::Document& scenario);
// Gives each request its class, where there are classes. Adds what is wrong to `errors`.
void set_classes(const scenario::Document& scenario, Requests& requests, Diagnostics& errors);

}  // namespace blockyard::serving
