// Columns of text that line up: the first ones to the left, figures to the right. Widths are counted in characters of
// UTF-8, not bytes. No line ends in a space.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace blockyard::report {

class TextTable {
 public:
  explicit TextTable(std::size_t left_columns = 1, std::size_t gap = 2) : left_columns_(left_columns), gap_(gap) {}

  // Rows may be of different length. An empty row is an empty line.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  [[nodiscard]] std::size_t width() const;
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths() const;

  std::size_t left_columns_;
  std::size_t gap_;
  std::vector<std::vector<std::string>> rows_;
};

[[nodiscard]] std::size_t characters(std::string_view utf8);

// `first` and `text` broken at its spaces into lines of at most `width` characters; further lines open with `indent`.
// Every line ends in a newline; a word longer than a line is left whole.
[[nodiscard]] std::string wrapped(std::string_view first, std::string_view text, std::size_t width,
                                  std::string_view indent);

}  // namespace blockyard::report
