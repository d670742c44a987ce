// Figures by class of limits and by tenant, and the pieces of JSON that they share with those of the whole run.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "sim/metrics/summary.h"

namespace blockyard::report {

[[nodiscard]] nlohmann::ordered_json number_or_null(const std::optional<double>& value);
[[nodiscard]] nlohmann::ordered_json distribution_json(const metrics::Distribution& d);
[[nodiscard]] nlohmann::ordered_json slo_json(const metrics::Slo& slo);
[[nodiscard]] nlohmann::ordered_json misses_json(const metrics::Slo& slo, const metrics::SloMisses& misses);

// `slo_classes`, an object by name, and `tenants`; each only where there are any.
void add_groups(const metrics::Summary& s, nlohmann::ordered_json& j);

}  // namespace blockyard::report
