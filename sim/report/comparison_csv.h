// comparison.csv: one flat row a variant, for spreadsheets and data frames. Columns: `label`, the varied keys,
// `does_not_fit` (why a variant could not be run; its figures are empty then), and every single figure of summary.json,
// named by its path there, which carries the unit: `latency.ttft_s.mean`, `memory.live.mean_share`. A column that only
// some variants have is there, empty for the others; lists (notes, warnings, tiers) are in comparison.json alone. Text
// with commas, quotes or line ends is quoted (RFC 4180). Cost: O(variants x columns).
#pragma once

#include <string>
#include <vector>

#include "sim/report/comparison.h"

namespace blockyard::report {

[[nodiscard]] std::string comparison_csv(const std::vector<Variant>& variants);

}  // namespace blockyard::report
