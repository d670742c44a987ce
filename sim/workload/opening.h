// How a trace begins, for recognising its format: the first line, its columns if it is a CSV header, the keys of the
// first record if it is JSON.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workload/line_reader.h"

namespace blockyard::workload {

class Opening {
 public:
  explicit Opening(LineReader& lines);

  [[nodiscard]] const std::string& line() const { return line_; }  // not blank; "" for an empty file
  [[nodiscard]] bool is_json() const { return json_; }
  [[nodiscard]] bool is_array() const { return array_; }  // of records
  // By name, whatever the case and spaces.
  [[nodiscard]] bool has_columns(std::initializer_list<std::string_view> names) const;
  // A key of the first record, or with a dot one level down: "usage.prompt_tokens".
  [[nodiscard]] bool has_key(std::string_view key) const;
  [[nodiscard]] bool has_keys(std::initializer_list<std::string_view> keys) const;
  // One of the first lines (64 KiB of them) begins with one of these.
  [[nodiscard]] bool has_line(std::initializer_list<std::string_view> beginnings) const;
  // What makes the first line no beginning of a trace, if that shows: it, or the only record, is cut off. Else "".
  [[nodiscard]] std::string_view damage() const { return damage_; }

 private:
  std::string line_;
  std::vector<std::string> columns_;
  std::vector<std::string> keys_;
  std::string head_;  // of a file that is not JSON
  std::string_view damage_;
  bool json_ = false;
  bool array_ = false;
};

// The keys of the first JSON object in `head`, those of objects in it as "outer.inner". Only the start of a long object
// need be there.
[[nodiscard]] std::vector<std::string> keys_of_first_record(std::string_view head);

}  // namespace blockyard::workload
