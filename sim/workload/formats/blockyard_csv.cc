#include "sim/workload/formats/blockyard_csv.h"

#include <array>
#include <utility>

#include "sim/workload/csv_reader.h"

namespace blockyard::workload {
namespace {

constexpr std::array<CsvColumn, 13> kColumns{{{"arrival_s", CsvField::time, true},
                                              {"prompt_tokens", CsvField::prompt_tokens, true},
                                              {"output_tokens", CsvField::output_tokens, true},
                                              {"max_tokens", CsvField::max_tokens, false},
                                              {"priority", CsvField::priority, false},
                                              {"tenant", CsvField::tenant, false},
                                              {"session", CsvField::session, false},
                                              {"prefix_id", CsvField::prefix, false},
                                              {"prefix_tokens", CsvField::prefix_tokens, false},
                                              {"reused_tokens", CsvField::reused_tokens, false},
                                              {"delay_s", CsvField::delay, false},
                                              {"category", CsvField::category, false},
                                              {"n", CsvField::samples, false}}};
constexpr CsvLayout kLayout{kColumns, "arrival_s,prompt_tokens,output_tokens", TimeForm::seconds};

}  // namespace

bool is_blockyard_csv(const Opening& opening) {
  return opening.has_columns({"arrival_s", "prompt_tokens", "output_tokens"});
}

bool has_content_columns(const Opening& opening) {
  return opening.has_columns({"session"}) || opening.has_columns({"prefix_id"});
}

std::unique_ptr<RowReader> open_blockyard_csv(LineReader lines, const ReaderOptions& options) {
  return open_csv(std::move(lines), options.header, kLayout);
}

}  // namespace blockyard::workload
