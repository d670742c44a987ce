// Tables of measured kernels, as they lie under BLOCKYARD_DATA_DIR/facts/kernels, and how far a model of time is from
// them.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace blockyard::cost {

using Row = std::map<std::string, std::string>;

inline std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  if (!cells.empty() && !cells.back().empty() && cells.back().back() == '\r') cells.back().pop_back();
  return cells;
}

// No rows where the file is absent.
inline std::vector<Row> read_table(const std::string& name) {
  const std::string path = std::string(BLOCKYARD_DATA_DIR) + "/facts/kernels/" + name;
  std::ifstream file(path);
  if (!file) {
    WARN("test skipped: " << path << " is not there");
    return {};
  }
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> header = split(line);
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split(line);
    REQUIRE(cells.size() == header.size());
    Row row;
    for (std::size_t i = 0; i < cells.size(); ++i) row[header[i]] = cells[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

inline std::int64_t integer(const Row& row, const char* column) { return std::stoll(row.at(column)); }

struct Errors {
  double percentage = 0;  // sum of |error|, %
  double weighted = 0;    // sum of |difference|
  double measured = 0;
  int rows = 0;
  void add(double ours, double theirs) {
    percentage += 100 * std::abs(ours / theirs - 1);
    weighted += std::abs(ours - theirs);
    measured += theirs;
    ++rows;
  }
  [[nodiscard]] double mape() const { return percentage / rows; }
  [[nodiscard]] double wape() const { return 100 * weighted / measured; }
};

}  // namespace blockyard::cost
