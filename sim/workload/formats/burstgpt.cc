#include "sim/workload/formats/burstgpt.h"

#include <array>
#include <utility>

#include "sim/workload/csv_reader.h"

namespace blockyard::workload {
namespace {

constexpr std::array<CsvColumn, 5> kColumns{{{"Timestamp", CsvField::time, true},
                                             {"Session ID", CsvField::session_name, false},
                                             {"Request tokens", CsvField::prompt_tokens, true},
                                             {"Response tokens", CsvField::output_tokens, true},
                                             {"Log Type", CsvField::category, false}}};
constexpr CsvLayout kLayout{.columns = kColumns,
                            .header = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type",
                            .time = TimeForm::seconds,
                            .sessions_repeat = false};

}  // namespace

bool is_burstgpt(const Opening& opening) {
  return opening.has_columns({"Timestamp", "Request tokens", "Response tokens"});
}

std::unique_ptr<RowReader> open_burstgpt(LineReader lines, const ReaderOptions& options) {
  return open_csv(std::move(lines), options.header, kLayout);
}

}  // namespace blockyard::workload
