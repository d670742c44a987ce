// Traces of Splitwise-sim (github.com/Mutinifni/splitwise-sim; Patel et al., ISCA 2024), CSV:
//   request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size
// arrival_timestamp in seconds; application_id is the tenant; the category is the request type. Other
// types than 2 (LLM inference) are no requests of a language model: left out and counted.
#pragma once

#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

[[nodiscard]] bool is_splitwise(const Opening& opening);
[[nodiscard]] std::unique_ptr<RowReader> open_splitwise(LineReader lines, const ReaderOptions& options);

}  // namespace blockyard::workload
