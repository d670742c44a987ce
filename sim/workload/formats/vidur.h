// Processed traces of Vidur (github.com/microsoft/vidur; Agrawal et al., MLSys 2024), CSV:
//   arrived_at,num_prefill_tokens,num_decode_tokens       arrived_at in seconds
// or lengths alone, without arrived_at (num_total_tokens and pd_ratio beside them): such rows have no time.
#pragma once

#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

[[nodiscard]] bool is_vidur(const Opening& opening);
[[nodiscard]] std::unique_ptr<RowReader> open_vidur(LineReader lines, const ReaderOptions& options);

}  // namespace blockyard::workload
