#include "sim/workload/formats/blockyard_csv.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sim/workload/csv_fields.h"
#include "sim/workload/csv_reader.h"

namespace blockyard::workload {
namespace {

constexpr std::array<CsvColumn, 10> kColumns{{{"arrival_s", CsvField::time, true},
                                              {"prompt_tokens", CsvField::prompt_tokens, true},
                                              {"output_tokens", CsvField::output_tokens, true},
                                              {"max_tokens", CsvField::max_tokens, false},
                                              {"priority", CsvField::priority, false},
                                              {"tenant", CsvField::tenant, false},
                                              {"session", CsvField::session, false},
                                              {"prefix_id", CsvField::prefix, false},
                                              {"prefix_tokens", CsvField::prefix_tokens, false},
                                              {"n", CsvField::samples, false}}};
constexpr CsvLayout kLayout{kColumns, TimeForm::seconds};

}  // namespace

bool is_blockyard_csv(std::string_view first_line) { return has_columns(first_line, kLayout); }

bool has_content_columns(std::string_view first_line) {
  for (const std::string& name : split_header(first_line)) {
    if (same_name(name, "session") || same_name(name, "prefix_id")) return true;
  }
  return false;
}

bool has_samples_column(std::string_view first_line) {
  const std::vector<std::string> names = split_header(first_line);
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return same_name(name, "n"); });
}

std::unique_ptr<RowReader> open_blockyard_csv(LineReader lines, bool header) {
  return open_csv(std::move(lines), header, kLayout);
}

}  // namespace blockyard::workload
