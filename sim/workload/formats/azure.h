// Azure LLM inference traces (github.com/Azure/AzurePublicDataset; Patel et al., ISCA 2024):
//   `azure`      2023 and 2024: TIMESTAMP,ContextTokens,GeneratedTokens
//   `azure-lmm`  2025, multi-modal: TIMESTAMP,NumImages,ContextTokens,GeneratedTokens; NumImages becomes the category
// TIMESTAMP is a date-time with 0 to 9 digits of a second (2023: 7, of which the last is 0; 2024: 0 to 6 and +00:00).
// 2023 files end lines with CRLF, the last without. Source of the layout: the files.
#pragma once

#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

[[nodiscard]] bool is_azure(const Opening& opening);
[[nodiscard]] std::unique_ptr<RowReader> open_azure(LineReader lines, const ReaderOptions& options);
[[nodiscard]] bool is_azure_lmm(const Opening& opening);
[[nodiscard]] std::unique_ptr<RowReader> open_azure_lmm(LineReader lines, const ReaderOptions& options);

}  // namespace blockyard::workload
