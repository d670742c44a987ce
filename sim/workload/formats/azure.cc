#include "sim/workload/formats/azure.h"

#include <array>
#include <utility>

#include "sim/workload/csv_reader.h"

namespace blockyard::workload {
namespace {

constexpr std::array<CsvColumn, 3> kColumns{{{"TIMESTAMP", CsvField::time, true},
                                             {"ContextTokens", CsvField::prompt_tokens, true},
                                             {"GeneratedTokens", CsvField::output_tokens, true}}};
constexpr CsvLayout kLayout{kColumns, TimeForm::date_time};

}  // namespace

bool is_azure(std::string_view first_line) { return has_columns(first_line, kLayout); }

std::unique_ptr<RowReader> open_azure(LineReader lines, bool header) {
  return open_csv(std::move(lines), header, kLayout);
}

}  // namespace blockyard::workload
