// A CSV trace format as data: which columns it has and how it writes time. Columns are found by name, ignoring case and
// spaces, in any order, among any others; fields and names may stand in double quotes (a quoted field ends on its
// line). A row with more or fewer fields than the header, or a field that is no number, is malformed. Cost: one pass
// over the characters, about 30 ns a row of three short numbers; nothing is allocated for a good row.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "sim/workload/line_reader.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

enum class CsvField {
  time,
  prompt_tokens,
  output_tokens,
  max_tokens,
  priority,
  tenant,
  session,
  prefix,
  prefix_tokens,
  reused_tokens,
  delay,
  session_name,  // any text; tenant and prefix likewise
  tenant_name,
  prefix_name,
  category,
  images,        // how many; the category is then "images" or "text"
  status,        // a request without success (status.h) has failed
  request_type,  // a row of another type than the layout's is no request; the category, too
  samples,
  other
};

enum class TimeForm { date_time, seconds, milliseconds, microseconds, none };

struct CsvColumn {
  std::string_view name;
  CsvField field;
  bool required;
};

struct CsvLayout {
  std::span<const CsvColumn> columns;
  std::string_view header;  // of the format's own files: the order of their columns where the header is missing
  TimeForm time;            // none: the rows have no times
  TimeForm delay = TimeForm::seconds;
  std::string_view request_type = {};
  bool sessions_repeat = true;  // false: what the prompts of a session repeat is not told
};

// Has the header every required column of the layout?
[[nodiscard]] bool has_columns(std::string_view header, const CsvLayout& layout);

// The layout is kept by reference: a constant of the format. Throws InputError naming the columns found and wanted.
[[nodiscard]] std::unique_ptr<RowReader> open_csv(LineReader lines, bool header, const CsvLayout& layout);

}  // namespace blockyard::workload
