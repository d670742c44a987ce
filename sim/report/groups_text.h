// Figures by class of limits and by tenant, as tables.
#pragma once

#include <string>

#include "sim/metrics/summary.h"

namespace blockyard::report {

// Of more tenants than these the others share a row on the screen.
inline constexpr std::size_t kTenantsShown = 10;

// "" where there are neither classes nor tenants; else it ends with an empty line.
[[nodiscard]] std::string groups_text(const metrics::Summary& s);

}  // namespace blockyard::report
