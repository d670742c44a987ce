// A summary for programs: schema "blockyard.summary/1", described in sim/report/README.md. Units stand in the keys; a
// figure without a sample is null; goodput is there if an slo is given. Keys keep their order and numbers read back to
// the same double: the same summary gives the same bytes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/metrics/summary.h"

namespace blockyard::report {

inline constexpr const char* kSummarySchema = "blockyard.summary/1";

[[nodiscard]] nlohmann::ordered_json summary_json(const metrics::Summary& summary);

// The text of summary.json: indented, with a newline at the end. Bytes of names that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& json);

}  // namespace blockyard::report
