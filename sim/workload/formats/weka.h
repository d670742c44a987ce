// Agent traces of weka and the published cc-traces, JSON or JSON lines: one request a record,
//   {"id": "s1", "t": 3.0, "in": 14000, "out": 300, "hash_ids": [1, 2, ...]}
// or one conversation a record, {"id": ..., "requests": [{"t", "in", "out", "hash_ids"}, ...]}. t in seconds. hash_ids:
// 64-token blocks; the specification leaves the partial last block out (floor), the published data have it (ceil): both
// are read. An id means something within its conversation only. think_time_s, where given, is the delay behind the
// answer before; otherwise requests come at their times. The normalised copies are read too: conversation_id or
// session_id, request_arrival_delta_s (seconds since the first request of the session, in spite of its name),
// input_length or input_tokens, output_length or output_tokens. Memory: the distinct ids.
#pragma once

#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

[[nodiscard]] bool is_weka(const Opening& opening);
[[nodiscard]] std::unique_ptr<RowReader> open_weka(LineReader lines, const ReaderOptions& options);

}  // namespace blockyard::workload
