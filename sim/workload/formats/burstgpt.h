// BurstGPT 1 to 3 (github.com/HPMLL/BurstGPT; Wang et al., 2024), CSV:
//   Timestamp,[Session ID,Elapsed time,]Model,Request tokens,Response tokens,Total tokens,Log Type
// Timestamp in seconds from midnight of the first day. A response of 0 tokens marks a failed request, and about 8 % of
// the rows have no prompt either: the lengths policy drops them. Session ID (BurstGPT 3) is empty in most rows, and
// what a prompt repeats of its session is not told: none of it is taken for repeated. The category is the log type:
// conversation or API.
#pragma once

#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

[[nodiscard]] bool is_burstgpt(const Opening& opening);
[[nodiscard]] std::unique_ptr<RowReader> open_burstgpt(LineReader lines, const ReaderOptions& options);

}  // namespace blockyard::workload
