// A small CSV with a header, row by row: for tables that are no trace (histograms, measurements). Fields are got by the
// number of their column, columns by name whatever the case and spaces. What is wrong is added to the errors, each at
// its place; a row of another length than the header is left out. After kMostFaults errors the table ends: one more
// says no more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/workload/line_reader.h"

namespace blockyard::workload {

class CsvTable {
 public:
  static constexpr std::size_t kMostFaults = 20;

  // Reads the header; names() is empty if there is none. The errors outlive the table. Throws InputError where the file
  // cannot be read.
  CsvTable(const std::string& path, Diagnostics& errors);

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::optional<std::size_t> column_of(std::string_view name) const;
  // A later column of the same name is an error: which of the two is meant is not known.
  void refuse_another(std::size_t column);
  [[nodiscard]] Place header_place() const { return {lines_.file(), 1}; }

  // The fields of the next row that is not blank; false at the end.
  bool next();
  [[nodiscard]] std::string_view field(std::size_t column) const { return fields_[column].text; }
  // Of the row at hand.
  void fault(std::size_t column, const std::string& message);
  void fault(const std::string& message);

  // decimal * 10^power within the bounds (exact if power is 0); none, and for a field that is not empty a fault.
  std::optional<std::int64_t> number(std::size_t column, int power, std::int64_t low, std::int64_t high);

 private:
  struct Field {
    std::string_view text;
    int at = 0;
  };
  bool split(std::string_view line);

  LineReader lines_;
  Diagnostics* errors_;
  std::vector<std::string> names_;
  std::vector<Place> name_places_;
  std::vector<Field> fields_;
};

}  // namespace blockyard::workload
