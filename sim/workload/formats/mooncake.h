// Mooncake traces (github.com/kvcache-ai/Mooncake; Qin et al., FAST 2025): one JSON object a line,
//   {"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, ...]}
// timestamp in ms from the start of the trace. hash_ids, where present: one id for each 512-token block of the prompt;
// the id of the last, partial block may be there or not (ceil or floor of input_length / 512), any other count is
// malformed. Many rows share one timestamp: they keep file order. Keys come in any order, others are ignored.
// The ids are counted here; their content is not used.
#pragma once

#include <memory>
#include <string_view>

#include "sim/workload/line_reader.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

inline constexpr std::string_view kMooncakeKeys =
    "{\"timestamp\", \"input_length\", \"output_length\"[, \"hash_ids\"]}";
inline constexpr std::int64_t kMooncakeBlockTokens = 512;

[[nodiscard]] bool is_mooncake(std::string_view first_line);
[[nodiscard]] std::unique_ptr<RowReader> open_mooncake(LineReader lines, bool header);

}  // namespace blockyard::workload
