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
                                             {"request_type", CsvField::request_type, false}}};
constexpr CsvLayout kLayout{
    .columns = kColumns,
    .header = "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size",
    .time = TimeForm::seconds,
    .request_type = "2"};

}  // namespace

bool is_splitwise(const Opening& opening) {
  return opening.has_columns({"arrival_timestamp", "prompt_size", "token_size"});
}

std::unique_ptr<RowReader> open_splitwise(LineReader lines, const ReaderOptions& options) {
  return open_csv(std::move(lines), options.header, kLayout);
}

}  // namespace blockyard::workload
