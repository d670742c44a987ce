// Bailian traces of Alibaba (github.com/alibaba-edu/qwen-bailian-usagetraces-anon; Wang et al., ATC 2025), JSON lines:
//   {"chat_id": 0, "parent_chat_id": -1, "timestamp": 0.0, "input_length": 502, "output_length": 1494, "type":
//   "thinking",
//    "turn": 1, "hash_ids": [0, ..., 31]}
// timestamp in seconds. hash_ids: one for each begun 16-token block. A row with a parent continues its conversation:
// all rows from one root are one session. Its prompt already holds the parent's prompt and answer, and comes at its own
// time. The category is the type. A parent that the file does not have (it begins in the middle) counts as a root.
// Memory: a few bytes for each chat id.
#pragma once

#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

[[nodiscard]] bool is_bailian(const Opening& opening);
[[nodiscard]] std::unique_ptr<RowReader> open_bailian(LineReader lines, const ReaderOptions& options);

}  // namespace blockyard::workload
