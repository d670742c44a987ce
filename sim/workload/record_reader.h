// JSON records of a file, one at a time: one a line (JSON lines), the elements of one array, or values over several
// lines. Which of them it is shows in the first bytes. Memory is bounded by the longest record, never by the file. A
// record is valid until the next call and has the padding behind it that simdjson wants. O(1) a byte.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/workload/line_reader.h"

namespace blockyard::workload {

class RecordReader {
 public:
  RecordReader(LineReader lines, std::size_t longest);

  // The next record, false at the end. Blank lines are none. Throws InputError with the line's number.
  bool next(std::string_view& record);

  // Of the record last given, from 1; `offset` in bytes from its start.
  [[nodiscard]] int line_number() const { return by_line_ ? lines_.line_number() : record_line_; }
  [[nodiscard]] Place place(std::size_t offset) const;
  [[nodiscard]] const std::string& file() const { return lines_.file(); }

 private:
  bool next_value(std::string_view& record);
  bool fetch();  // false: no more bytes
  [[noreturn]] void fail(const std::string& message) const;

  LineReader lines_;
  std::size_t longest_;
  bool by_line_ = true;
  bool in_array_ = false;
  bool after_array_ = false;
  bool first_ = true;       // nothing of the array was given yet
  std::string_view bytes_;  // fetched and not yet looked at
  int line_ = 1;            // of the next byte
  std::string value_;
  int record_line_ = 0;
};

}  // namespace blockyard::workload
