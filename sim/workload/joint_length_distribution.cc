#include "sim/workload/joint_length_distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/workload/byte_source.h"
#include "sim/workload/csv_fields.h"
#include "sim/workload/line_reader.h"
#include "sim/workload/numbers.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {
namespace {

enum Column : std::size_t { prompt_from, prompt_to, output_from, output_to, count, mean_prompt, mean_output, columns };
constexpr std::array<std::string_view, columns> kColumnNames{"prompt_from", "prompt_to",   "output_from", "output_to",
                                                             "count",       "mean_prompt", "mean_output"};
constexpr int kMeanPlaces = 6;  // of a mean's decimals that count
constexpr double kMeanScale = 1e6;

// Lengths of one side of a cell: uniform over [low, high], fractions rounded at random.
struct Range {
  double low = 0;
  double high = 0;

  [[nodiscard]] Tokens draw(RandomStream& stream) const {
    const double exact = low + (high - low) * stream.uniform();
    return Tokens(static_cast<std::int64_t>(std::floor(exact + stream.uniform())));
  }
};

Range around_mean(double from, double to, double mean) {
  return mean - from < to - mean ? Range{from, 2 * mean - from} : Range{2 * mean - to, to};
}

struct Cell {
  Range prompt;
  Range output;
};

class HistogramFile {
 public:
  explicit HistogramFile(const std::string& path) : lines_(path, open_bytes(path)) {}

  void read(std::vector<Cell>& cells, std::vector<double>& cumulative) {
    find_columns();
    std::string_view line;
    double sum = 0;
    while (lines_.next(line)) {
      if (trimmed(line).empty()) continue;
      std::array<double, columns> row{};
      if (!parse(line, row) || row[count] == 0) continue;
      cells.push_back({side(row, prompt_from, mean_prompt), side(row, output_from, mean_output)});
      sum += row[count];
      cumulative.push_back(sum);
    }
    if (cells.empty() && errors_.empty()) errors_.add({lines_.file()}, "holds no counted request");
    errors_.throw_if_any();
  }

 private:
  void find_columns() {
    std::string_view line;
    if (!lines_.next(line)) throw InputError({lines_.file()}, "is empty, expected a CSV header");
    const std::vector<std::string> names = split_header(line);
    field_.assign(names.size(), columns);
    for (std::size_t c = 0; c < columns; ++c) {
      const auto at = std::find_if(names.begin(), names.end(),
                                   [&](const std::string& name) { return same_name(name, kColumnNames[c]); });
      if (at != names.end()) {
        field_[static_cast<std::size_t>(at - names.begin())] = c;
        found_[c] = true;
      } else if (c < mean_prompt) {
        errors_.add(lines_.place(), fmt::format("no column \"{}\"; found {}{}", kColumnNames[c], quoted(line, 200),
                                                did_you_mean(kColumnNames[c], names)));
      }
    }
    errors_.throw_if_any();
  }

  // False, with the error noted, if the row is not one.
  bool parse(std::string_view line, std::array<double, columns>& row) {
    const char* at = line.data();
    const char* const end = at + line.size();
    std::size_t fields = 0;
    for (;; ++at, ++fields) {
      const int place = static_cast<int>(at - line.data()) + 1;
      std::string_view text;
      if (const char* fault = take_field(at, end, text)) return bad(place, fault);
      if (fields < field_.size() && field_[fields] != columns) {
        const std::size_t c = field_[fields];
        const bool mean = c == mean_prompt || c == mean_output;
        const Decimal number = parse_decimal(text, mean ? kMeanPlaces : 0);
        const char* const fault = number.fault != nullptr               ? number.fault
                                  : !mean && !number.exact              ? "expected a whole number"
                                  : number.value < (c == count ? 0 : 1) ? "expected a positive number"
                                                                        : nullptr;
        if (fault != nullptr) return bad(place, fmt::format("{}: found {}, {}", kColumnNames[c], quoted(text), fault));
        row[c] = static_cast<double>(number.value) / (mean ? kMeanScale : 1);
      }
      if (at == end) break;
    }
    if (fields + 1 != field_.size())
      return bad(0, fmt::format("the row has {} fields, the header {}", fields + 1, field_.size()));
    return consistent(row, prompt_from, mean_prompt) && consistent(row, output_from, mean_output);
  }

  bool consistent(const std::array<double, columns>& row, std::size_t from, std::size_t mean) {
    const double low = row[from];
    const double high = row[from + 1];
    if (high > static_cast<double>(kLongestLength)) return bad(0, "more than 1,000,000,000 tokens");
    if (low > high)
      return bad(0, fmt::format("{}: found {}, above {}: {}", kColumnNames[from], low, kColumnNames[from + 1], high));
    if (found_[mean] && (row[mean] < low || row[mean] > high))
      return bad(0, fmt::format("{}: found {}, expected {} to {}", kColumnNames[mean], row[mean], low, high));
    return true;
  }

  bool bad(int column, std::string message) {
    errors_.add(lines_.place(column), std::move(message));
    return false;
  }

  [[nodiscard]] Range side(const std::array<double, columns>& row, std::size_t from, std::size_t mean) const {
    const double middle = (row[from] + row[from + 1]) / 2;
    return around_mean(row[from], row[from + 1], found_[mean] ? row[mean] : middle);
  }

  LineReader lines_;
  std::vector<std::size_t> field_;  // which column stands in each field of a row; `columns`: another one
  std::array<bool, columns> found_{};
  Diagnostics errors_;
};

class Histogram final : public JointLengthDistribution {
 public:
  explicit Histogram(const JointLengthSpec& spec) : max_total_(spec.max_total) {
    HistogramFile(spec.file.string()).read(cells_, cumulative_);
  }

  void draw(RandomStream& stream, std::span<Tokens> prompts, std::span<Tokens> outputs) override {
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const double at = stream.uniform() * cumulative_.back();
      const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, at);
      const Cell& cell = cells_[static_cast<std::size_t>(found - cumulative_.begin())];
      prompts[i] = cell.prompt.draw(stream);
      outputs[i] = cell.output.draw(stream);
      if (max_total_) outputs[i] = std::clamp(outputs[i], Tokens(1), std::max(Tokens(1), *max_total_ - prompts[i]));
    }
  }

 private:
  std::vector<Cell> cells_;
  std::vector<double> cumulative_;  // counts of the cells up to each
  std::optional<Tokens> max_total_;
};

}  // namespace

std::unique_ptr<JointLengthDistribution> make_joint_lengths(const JointLengthSpec& spec) {
  return std::make_unique<Histogram>(spec);
}

}  // namespace blockyard::workload
