// Agent traces of NVIDIA Dynamo (github.com/ai-dynamo/dynamo), JSON lines. The keys, wherever they stand: at the top,
// or in "event", "request", "replay" and "agent_context":
//   input_length or input_tokens, output_length or output_tokens, session_id or trajectory_id,
//   trace_block_size (64 unless given; one size a file), input_sequence_hashes: 64-bit hashes, one a block (begun or
//   full) request_received_ms, timestamp or event_time_unix_ms: ms
// A record without input is an event of another kind (a tool call): left out and counted. Requests come at their times.
// Memory: the distinct hashes.
#pragma once

#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

[[nodiscard]] bool is_dynamo(const Opening& opening);
[[nodiscard]] std::unique_ptr<RowReader> open_dynamo(LineReader lines, const ReaderOptions& options);

}  // namespace blockyard::workload
