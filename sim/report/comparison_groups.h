// The rows of a comparison that hold figures of classes of limits and of tenants: those that any variant has.
#pragma once

#include <vector>

#include "sim/report/comparison_rows.h"

namespace blockyard::report {

[[nodiscard]] std::vector<ComparisonRow> group_rows(const std::vector<const metrics::Summary*>& summaries);

}  // namespace blockyard::report
