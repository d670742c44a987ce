// Azure LLM inference traces, 2023 and 2024 (github.com/Azure/AzurePublicDataset; Patel et al., ISCA 2024):
//   header TIMESTAMP,ContextTokens,GeneratedTokens; TIMESTAMP a date-time with 0 to 9 digits of a second (2023: 7, of
//   which the last is 0; 2024: 0 to 6 and +00:00). 2023 files end lines with CRLF, the last without.
// Further columns are ignored (the 2025 multi-modal trace has NumImages in the middle). Source of the layout: the
// files.
#pragma once

#include <memory>
#include <string_view>

#include "sim/workload/line_reader.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

inline constexpr std::string_view kAzureColumns = "TIMESTAMP,ContextTokens,GeneratedTokens";

[[nodiscard]] bool is_azure(std::string_view first_line);
[[nodiscard]] std::unique_ptr<RowReader> open_azure(LineReader lines, bool header);

}  // namespace blockyard::workload
