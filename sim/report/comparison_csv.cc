#include "sim/report/comparison_csv.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "sim/report/summary_json.h"

namespace blockyard::report {
namespace {

using nlohmann::ordered_json;

std::string csv_text(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + '"';
}

std::string field_of(const ordered_json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? csv_text(value.get<std::string>()) : value.dump();
}

// Rows that grow column by column, in the order in which columns first occur.
class Table {
 public:
  void begin_row() { rows_.emplace_back(); }
  void add(const std::string& column, std::string field) {
    const auto [at, is_new] = columns_.try_emplace(column, names_.size());
    if (is_new) names_.push_back(column);
    std::vector<std::string>& row = rows_.back();
    if (row.size() <= at->second) row.resize(at->second + 1);
    row[at->second] = std::move(field);
  }
  void add_all(const std::string& path, const ordered_json& json) {
    for (const auto& [key, value] : json.items()) {
      const std::string name = path.empty() ? key : fmt::format("{}.{}", path, key);
      if (value.is_object()) {
        add_all(name, value);
      } else if (!value.is_array()) {
        add(name, field_of(value));
      }
    }
  }

  [[nodiscard]] std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < names_.size(); ++i) text += (i > 0 ? "," : "") + csv_text(names_[i]);
    text += '\n';
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < names_.size(); ++i) {
        if (i > 0) text += ',';
        if (i < row.size()) text += row[i];
      }
      text += '\n';
    }
    return text;
  }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::size_t> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace

std::string comparison_csv(const std::vector<Variant>& variants) {
  Table table;
  for (const Variant& variant : variants) {
    table.begin_row();
    table.add("label", csv_text(variant.label));
    for (const auto& [key, value] : variant.settings) table.add(key, csv_text(value));
    table.add("does_not_fit", csv_text(variant.does_not_fit));
    if (!variant.does_not_fit.empty()) continue;
    ordered_json summary = summary_json(variant.summary);
    summary.erase("schema");
    table.add_all("", summary);
  }
  return table.text();
}

}  // namespace blockyard::report
