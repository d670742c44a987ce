// Several runs side by side, one column a variant that could be run. Beside each figure that has a better and a worse
// stands its ratio to the first variant's. More columns than a screen of 120 holds are split into several tables, each
// of which begins with the first variant.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/metrics/summary.h"

namespace blockyard::report {

struct Variant {
  std::string label;  // what distinguishes it: "kv_cache.strategy=paged"
  metrics::Summary summary;
  std::string does_not_fit{};                                   // why it could not be run; the summary is empty then
  std::vector<std::pair<std::string, std::string>> settings{};  // varied keys and their values
  bool generic_constants = false;                               // no kernel of its GPU was measured
};

[[nodiscard]] std::string print_comparison(const std::vector<Variant>& variants);

// {"schema": "blockyard.comparison/1", "variants": [{"label": ..., "summary": the object of summary_json.h} or
//  {"label": ..., "does_not_fit": why}, ...]}
[[nodiscard]] nlohmann::ordered_json comparison_json(const std::vector<Variant>& variants);

}  // namespace blockyard::report
