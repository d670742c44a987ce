#include "sim/workload/formats/splitwise.h"

#include <array>
#include <utility>

#include "sim/workload/csv_reader.h"

namespace blockyard::workload {
namespace {

constexpr std::array<CsvColumn, 5> kColumns{{{"arrival_timestamp", CsvField::time, true},
                                             {"prompt_size", CsvField::prompt_tokens, true},
                                             {"token_size", CsvField::output_tokens, true},
                                             {"application_id", CsvField::tenant_name, false},
                                             {"request_type", CsvField::category, false}}};
constexpr CsvLayout kLayout{kColumns, TimeForm::seconds};

}  // namespace

bool is_splitwise(const Opening& opening) {
  return opening.has_columns({"arrival_timestamp", "prompt_size", "token_size"});
}

std::unique_ptr<RowReader> open_splitwise(LineReader lines, const ReaderOptions& options) {
  return open_csv(std::move(lines), options.header, kLayout);
}

}  // namespace blockyard::workload
