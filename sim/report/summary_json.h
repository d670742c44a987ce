// A summary for programs: schema "blockyard.summary/1", described in sim/report/README.md. Units stand in the keys; a
// figure without a sample is null; groups that do not apply (goodput without an slo) are left out. Keys keep their
// order, and numbers are the shortest decimals that read back to the same double: the same summary gives the same
// bytes.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/metrics/summary.h"

namespace blockyard::report {

inline constexpr const char* kSummarySchema = "blockyard.summary/1";

[[nodiscard]] nlohmann::ordered_json summary_json(const metrics::Summary& summary);

}  // namespace blockyard::report
