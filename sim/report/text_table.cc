#include "sim/report/text_table.h"

#include <algorithm>

namespace blockyard::report {

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    if (row.size() > widths.size()) widths.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], characters(row[i]));
  }
  return widths;
}

std::size_t TextTable::width() const {
  std::size_t sum = 0;
  for (const std::size_t width : widths()) sum += width + gap_;
  return sum == 0 ? 0 : sum - gap_;
}

std::string TextTable::text() const {
  const std::vector<std::size_t> column_widths = widths();
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line.append(gap_, ' ');
      const std::size_t padding = column_widths[i] - characters(row[i]);
      if (i >= left_columns_) line.append(padding, ' ');
      line += row[i];
      if (i < left_columns_) line.append(padding, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line;
    out += '\n';
  }
  return out;
}

std::string wrapped(std::string_view first, std::string_view text, std::size_t width, std::string_view indent) {
  std::string out;
  std::string line(first);
  std::size_t used = characters(first);
  bool has_word = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (has_word && used + 1 + characters(word) > width) {
      out += line;
      out += '\n';
      line = indent;
      used = characters(indent);
      has_word = false;
    }
    if (has_word) {
      line += ' ';
      ++used;
    }
    line += word;
    used += characters(word);
    has_word = true;
  }
  return out + line + "\n";
}

}  // namespace blockyard::report
