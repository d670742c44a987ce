// Blockyard's own trace format where prompts have ids of blocks: JSON lines, with the columns of the CSV
// (blockyard_csv.h) as keys, all optional but the first three, and
//   hash_ids      one id for each begun block of the prompt, equal exactly where the block and all before it are
//   block_tokens  the tokens of such a block, the same in all rows that have ids
// Example:
//   {"arrival_s": 0, "prompt_tokens": 600, "output_tokens": 44, "block_tokens": 512, "hash_ids": [0, 1]}
#pragma once

#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

[[nodiscard]] bool is_blockyard_jsonl(const Opening& opening);
[[nodiscard]] std::unique_ptr<RowReader> open_blockyard_jsonl(LineReader lines, const ReaderOptions& options);

}  // namespace blockyard::workload
