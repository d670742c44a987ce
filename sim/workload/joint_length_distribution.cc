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
#include "sim/workload/csv_table.h"
#include "sim/workload/numbers.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {
namespace {

enum Column : std::size_t { prompt_from, prompt_to, output_from, output_to, count, mean_prompt, mean_output, columns };
constexpr std::array<std::string_view, columns> kColumnNames{"prompt_from", "prompt_to",   "output_from", "output_to",
                                                             "count",       "mean_prompt", "mean_output"};
constexpr int kMeanPlaces = 6;  // of a mean's decimals that count
constexpr double kMeanScale = 1e6;
constexpr std::size_t kHeaderShown = 200;

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
  explicit HistogramFile(const std::string& path) : path_(path), table_(path, errors_) {}

  void read(std::vector<Cell>& cells, std::vector<double>& cumulative) {
    find_columns();
    double sum = 0;
    while (table_.next()) {
      std::array<double, columns> row{};
      if (!parse(row) || row[count] == 0) continue;
      cells.push_back({side(row, prompt_from, mean_prompt), side(row, output_from, mean_output)});
      sum += row[count];
      cumulative.push_back(sum);
    }
    if (cells.empty() && errors_.empty()) errors_.add({path_}, "holds no counted request");
    errors_.throw_if_any();
  }

 private:
  void find_columns() {
    if (table_.names().empty()) throw InputError({path_}, "is empty, expected a CSV header");
    for (std::size_t c = 0; c < columns; ++c) {
      field_[c] = table_.column_of(kColumnNames[c]);
      if (field_[c] || c >= mean_prompt) continue;
      errors_.add(table_.header_place(),
                  fmt::format("no column \"{}\"; found {}{}", kColumnNames[c],
                              quoted(fmt::format("{}", fmt::join(table_.names(), ",")), kHeaderShown),
                              did_you_mean(kColumnNames[c], table_.names())));
    }
    errors_.throw_if_any();
  }

  // False, with the error noted, if the row is not one.
  bool parse(std::array<double, columns>& row) {
    for (std::size_t c = 0; c < columns; ++c) {
      if (!field_[c]) continue;
      const bool mean = c == mean_prompt || c == mean_output;
      if (table_.field(*field_[c]).empty()) {
        table_.fault(*field_[c], "empty, expected a number");
        return false;
      }
      const auto number = table_.number(*field_[c], mean ? kMeanPlaces : 0, c == count ? 0 : 1, INT64_MAX);
      if (!number) return false;
      row[c] = static_cast<double>(*number) / (mean ? kMeanScale : 1);
    }
    return consistent(row, prompt_from, mean_prompt) && consistent(row, output_from, mean_output);
  }

  bool consistent(const std::array<double, columns>& row, std::size_t from, std::size_t mean) {
    const double low = row[from];
    const double high = row[from + 1];
    if (high > static_cast<double>(kLongestLength)) return bad("more than 1,000,000,000 tokens");
    if (low > high)
      return bad(fmt::format("{}: found {}, above {}: {}", kColumnNames[from], low, kColumnNames[from + 1], high));
    if (field_[mean] && (row[mean] < low || row[mean] > high))
      return bad(fmt::format("{}: found {}, expected {} to {}", kColumnNames[mean], row[mean], low, high));
    return true;
  }

  bool bad(const std::string& message) {
    table_.fault(message);
    return false;
  }

  [[nodiscard]] Range side(const std::array<double, columns>& row, std::size_t from, std::size_t mean) const {
    const double middle = (row[from] + row[from + 1]) / 2;
    return around_mean(row[from], row[from + 1], field_[mean] ? row[mean] : middle);
  }

  std::string path_;
  Diagnostics errors_;
  CsvTable table_;
  std::array<std::optional<std::size_t>, columns> field_;  // where each column stands
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
