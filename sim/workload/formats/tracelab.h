// Rounds of agents recorded by TraceLab (github.com/uw-syfi/TraceLab), JSON lines: one call of the model a record,
//   session_id, input_tokens_total = prefix_tokens + newly_append_tokens, output_tokens, timing_events: [{event_type,
//   timestamp}]
// A round begins with its last input event (user_message, tool_result) and ends with its last event. prefix_tokens is
// what the provider found cached: the prompt repeats that much of what the session has said. The delay behind the
// answer before is the time from the end of the round before it; the category is the provider.
#pragma once

#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

[[nodiscard]] bool is_tracelab(const Opening& opening);
[[nodiscard]] std::unique_ptr<RowReader> open_tracelab(LineReader lines, const ReaderOptions& options);

}  // namespace blockyard::workload
