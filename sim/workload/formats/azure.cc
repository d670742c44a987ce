#include "sim/workload/formats/azure.h"

#include <array>
#include <utility>

#include "sim/workload/csv_reader.h"

namespace blockyard::workload {
namespace {

constexpr std::array<CsvColumn, 3> kColumns{{{"TIMESTAMP", CsvField::time, true},
                                             {"ContextTokens", CsvField::prompt_tokens, true},
                                             {"GeneratedTokens", CsvField::output_tokens, true}}};
constexpr CsvLayout kLayout{kColumns, "TIMESTAMP,ContextTokens,GeneratedTokens", TimeForm::date_time};

constexpr std::array<CsvColumn, 4> kLmmColumns{{{"TIMESTAMP", CsvField::time, true},
                                                {"NumImages", CsvField::images, true},
                                                {"ContextTokens", CsvField::prompt_tokens, true},
                                                {"GeneratedTokens", CsvField::output_tokens, true}}};
constexpr CsvLayout kLmmLayout{kLmmColumns, "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens", TimeForm::date_time};

}  // namespace

bool is_azure(const Opening& opening) {
  return opening.has_columns({"TIMESTAMP", "ContextTokens", "GeneratedTokens"}) && !opening.has_columns({"NumImages"});
}

std::unique_ptr<RowReader> open_azure(LineReader lines, const ReaderOptions& options) {
  return open_csv(std::move(lines), options.header, kLayout);
}

bool is_azure_lmm(const Opening& opening) {
  return opening.has_columns({"TIMESTAMP", "NumImages", "ContextTokens", "GeneratedTokens"});
}

std::unique_ptr<RowReader> open_azure_lmm(LineReader lines, const ReaderOptions& options) {
  return open_csv(std::move(lines), options.header, kLmmLayout);
}

}  // namespace blockyard::workload
