// Mooncake traces (github.com/kvcache-ai/Mooncake; Qin et al., FAST 2025): one JSON object a line,
//   {"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, ...]}
// timestamp in ms from the start of the trace. hash_ids, where present: one id for each begun 512-token block of the
// prompt, so the last may be partial; any other count is malformed, but for the options hash_block and partial_ids.
// Many rows share one timestamp: they keep file order. Keys come in any order, others are ignored.
//
// The extended form (aiperf, genai-perf) adds session_id, delay (ms), priority, and text_input or messages instead of
// input_length (text_length.h). A session's first turn comes at its timestamp; a later one with a delay, or without a
// timestamp, when the turn before it has been answered, and then waited for its delay.
//
// `vllm-timed` is what vLLM's benchmark reads under the name timed_trace: the same keys, but 16 tokens an id. Nothing
// in the file tells it from a Mooncake trace, so it has to be named.
#pragma once

#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

inline constexpr std::int64_t kMooncakeBlockTokens = 512;
inline constexpr std::int64_t kVllmTimedBlockTokens = 16;

[[nodiscard]] bool is_mooncake(const Opening& opening);
[[nodiscard]] std::unique_ptr<RowReader> open_mooncake(LineReader lines, const ReaderOptions& options);
[[nodiscard]] std::unique_ptr<RowReader> open_vllm_timed(LineReader lines, const ReaderOptions& options);

}  // namespace blockyard::workload
