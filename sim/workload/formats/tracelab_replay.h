// Replay files of TraceLab (github.com/uw-syfi/TraceLab), CSV:
//   session_id,[arrival_time,]round_idx,prefix_len,input_len,output_len,tool_wait_after_ms
// One row a round. input_len counts the new tokens alone: the prompt is prefix_len + input_len, of which prefix_len
// repeat what the session has said. arrival_time in ms is that of the session, the same on all its rows. Closed loop: a
// round starts tool_wait_after_ms of the round before it after that one has ended. Rounds of a session stand in order.
#pragma once

#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

[[nodiscard]] bool is_tracelab_replay(const Opening& opening);
[[nodiscard]] std::unique_ptr<RowReader> open_tracelab_replay(LineReader lines, const ReaderOptions& options);

}  // namespace blockyard::workload
