// Rows of a JSON trace: records in, rows out; what a record means is the format's.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

class RecordFormat {
 public:
  virtual ~RecordFormat() = default;
  // Appends the record's rows, one or several, and their ids of prompt blocks. Throws JsonFault; then nothing of the
  // record stays.
  virtual void parse(simdjson::ondemand::object& record, RowBatch& batch) = 0;
};

[[nodiscard]] std::unique_ptr<RowReader> open_json(LineReader lines, std::unique_ptr<RecordFormat> format,
                                                   std::size_t longest_record = LineReader::kLongestLine);

}  // namespace blockyard::workload
