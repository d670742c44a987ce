// Traces of LLMServingSim (github.com/casys-kaist/LLMServingSim; Cho et al., IISWC 2024), JSON lines:
//   flat     {"input_toks", "output_toks", "arrival_time_ns"[, "input_tok_ids", "output_tok_ids"]}
//   agentic  {"session_id", "arrival_time_ns", "sub_requests": [{"input_toks", "output_toks", "tool_duration_ns"}]}
//   log      {"request_id", "input_toks", "output_toks", "arrival_time"} of its benchmark: arrival_time in seconds
// Where the ids of a prompt's tokens are given, there are input_toks of them, and they name its full blocks of 16
// tokens (or of hash_block). A sub-request is a turn of its session, sent the tool_duration of the one before it after
// that one has ended. Memory: the distinct blocks.
#pragma once

#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

[[nodiscard]] bool is_llmservingsim(const Opening& opening);
[[nodiscard]] std::unique_ptr<RowReader> open_llmservingsim(LineReader lines, const ReaderOptions& options);

}  // namespace blockyard::workload
