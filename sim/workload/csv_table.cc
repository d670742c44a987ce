#include "sim/workload/csv_table.h"

#include <fmt/format.h>

#include <cmath>

#include "sim/workload/byte_source.h"
#include "sim/workload/csv_fields.h"
#include "sim/workload/numbers.h"

namespace blockyard::workload {

CsvTable::CsvTable(const std::string& path, Diagnostics& errors)
    : lines_(display_name(path), open_bytes(path)), errors_(&errors) {
  std::string_view header;
  while (lines_.next(header) && trimmed(header).empty()) {
  }
  if (trimmed(header).empty()) return;
  names_ = split_header(header);
  const char* at = header.data();
  for (std::size_t i = 0; i < names_.size(); ++i, ++at) {
    name_places_.push_back(lines_.place(static_cast<int>(at - header.data()) + 1));
    std::string_view name;
    (void)take_field(at, header.data() + header.size(), name);  // split_header() has said what is wrong
  }
}

void CsvTable::refuse_another(std::size_t column) {
  for (std::size_t i = column + 1; i < names_.size(); ++i) {
    if (same_name(names_[i], names_[column]))
      errors_->add(name_places_[i], fmt::format("{}: found twice, expected once; the first begins in column {}",
                                                names_[i], name_places_[column].column));
  }
}

std::optional<std::size_t> CsvTable::column_of(std::string_view name) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (same_name(names_[i], name)) return i;
  }
  return std::nullopt;
}

bool CsvTable::next() {
  std::string_view line;
  while (errors_->list().size() < kMostFaults && lines_.next(line)) {
    if (!trimmed(line).empty() && split(line)) return true;
  }
  return false;
}

void CsvTable::fault(std::size_t column, const std::string& message) {
  errors_->add(lines_.place(fields_[column].at), fmt::format("{}: {}", names_[column], message));
}

void CsvTable::fault(const std::string& message) { errors_->add(lines_.place(), message); }

std::optional<std::int64_t> CsvTable::number(std::size_t column, int power, std::int64_t low, std::int64_t high) {
  const std::string_view text = field(column);
  if (text.empty()) return std::nullopt;
  const Decimal value = parse_decimal(text, power);
  std::string problem = value.fault == nullptr ? "" : value.fault;
  if (problem.empty() && power == 0 && !value.exact) problem = "expected a whole number";
  const auto as_written = [power](std::int64_t bound) {
    return power == 0 ? fmt::format("{}", bound)
                      : fmt::format("{:.12g}", static_cast<double>(bound) / std::pow(10, power));
  };
  if (problem.empty() && value.value < low) problem = fmt::format("expected {} or more", as_written(low));
  if (problem.empty() && value.value > high) problem = fmt::format("expected {} or less", as_written(high));
  if (problem.empty()) return value.value;
  fault(column, fmt::format("found {}, {}", quoted(text), problem));
  return std::nullopt;
}

bool CsvTable::split(std::string_view line) {
  fields_.clear();
  const char* at = line.data();
  const char* const end = line.data() + line.size();
  for (;; ++at) {
    std::string_view text;
    const int column = static_cast<int>(at - line.data()) + 1;
    if (const char* problem = take_field(at, end, text)) {
      errors_->add(lines_.place(column), problem);
      return false;
    }
    fields_.push_back({text, column});
    if (at == end) break;
  }
  if (fields_.size() == names_.size()) return true;
  errors_->add(lines_.place(1),
               fmt::format("found {} fields, expected {} as in the header", fields_.size(), names_.size()));
  return false;
}

}  // namespace blockyard::workload
