// Results of vLLM's benchmark (`vllm bench serve --save-result --save-detailed`): one JSON object with arrays by
// request,
//   input_lens, output_lens, and where the version writes them start_times (s), errors
// Requests come at start_times; without them they have no time. A request with an error has failed. The object has to
// be in memory as a whole, up to 1 GiB; its texts and gaps are passed over.
#pragma once

#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

[[nodiscard]] bool is_vllm_bench(const Opening& opening);
[[nodiscard]] std::unique_ptr<RowReader> open_vllm_bench(LineReader lines, const ReaderOptions& options);

}  // namespace blockyard::workload
