// Conversations of ShareGPT and its like, one JSON array or JSON lines:
//   {"id": ..., "conversations": [{"from": "human" | "gpt", "value": text}, ...]}
// Lengths by a stated rule: of each conversation the first two turns, as the samplers of benchmarks do, the first being
// the prompt and the second the answer; each with one token for every 4 characters (text_length.h). Nothing is left out
// for its length. A conversation of fewer than two turns, or with an empty one, is none: left out and counted. There
// are no times.
#pragma once

#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

[[nodiscard]] bool is_sharegpt(const Opening& opening);
[[nodiscard]] std::unique_ptr<RowReader> open_sharegpt(LineReader lines, const ReaderOptions& options);

}  // namespace blockyard::workload
