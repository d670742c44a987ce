// Several replicas side by side: a table for the screen and the `replicas` of summary.json. Nothing of a single one.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "sim/metrics/summary.h"

namespace blockyard::report {

[[nodiscard]] std::string replicas_text(const metrics::Summary& summary);
// One object a replica, in their order.
[[nodiscard]] nlohmann::ordered_json replicas_json(const metrics::Summary& summary);

}  // namespace blockyard::report
