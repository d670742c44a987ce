#include "sim/report/comparison_csv.h"

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/report/summary_json.h"
#include "tests/report/example_summary.h"
#include "tests/report/lines.h"

namespace blockyard::report {
namespace {

// The fields of a line, quotes taken off.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool in_quotes = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (in_quotes && i + 1 < line.size() && line[i + 1] == '"')
        fields.back() += line[++i];
      else
        in_quotes = !in_quotes;
    } else if (line[i] == ',' && !in_quotes) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

using Row = std::map<std::string, std::string>;

std::vector<Row> rows_of(const std::string& csv) {
  const std::vector<std::string> lines = lines_of(csv);
  const std::vector<std::string> names = fields_of(lines.at(0));
  std::vector<Row> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = fields_of(lines[i]);
    REQUIRE(fields.size() == names.size());
    rows.emplace_back();
    for (std::size_t c = 0; c < names.size(); ++c) CHECK(rows.back().emplace(names[c], fields[c]).second);
  }
  return rows;
}

// Every figure below `json` that is no list stands in the row, under its path.
void check_all(const nlohmann::ordered_json& json, const std::string& path, const Row& row, int& figures) {
  for (const auto& [key, value] : json.items()) {
    const std::string name = path.empty() ? key : path + "." + key;
    INFO(name);
    if (value.is_object()) {
      check_all(value, name, row, figures);
    } else if (!value.is_array() && name != "schema") {
      REQUIRE(row.contains(name));
      const std::string text = value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
      CHECK(row.at(name) == text);
      ++figures;
    }
  }
}

TEST_CASE("a row a variant, with its settings and every figure of summary.json under its path") {
  metrics::Summary other = example_summary();
  other.identity.scenario = "of \"quotes\", and commas";
  other.shared_blocks_saved = 0.25;
  const std::vector<Variant> variants{
      {"strategy=paged, n=2", example_summary(), "", {{"kv_cache.strategy", "paged"}, {"workload.n", "2"}}},
      {"strategy=paged, n=4", other, "", {{"kv_cache.strategy", "paged"}, {"workload.n", "4"}}}};
  const std::string csv = comparison_csv(variants);
  CHECK(csv.starts_with("label,kv_cache.strategy,workload.n,does_not_fit,identity.scenario,"));
  const std::vector<Row> rows = rows_of(csv);
  REQUIRE(rows.size() == 2U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i].at("label") == variants[i].label);
    CHECK(rows[i].at("workload.n") == variants[i].settings[1].second);
    int figures = 0;
    check_all(summary_json(variants[i].summary), "", rows[i], figures);
    CHECK(figures > 100);
  }
  CHECK(rows[0].at("latency.ttft_s.mean") == "0.1875");
  CHECK(rows[0].at("memory.shared_blocks_saved_share").empty());
  CHECK(rows[1].at("memory.shared_blocks_saved_share") == "0.25");
}

TEST_CASE("a variant that does not fit has its reason and no figure") {
  const std::vector<Row> rows = rows_of(comparison_csv(
      {{"a", {}, "too large, by 1 GiB", {{"model", "a"}}}, {"b", example_summary(), "", {{"model", "b"}}}}));
  REQUIRE(rows.size() == 2U);
  CHECK(rows[0].at("does_not_fit") == "too large, by 1 GiB");
  CHECK(rows[0].at("requests.arrived").empty());
  CHECK(rows[1].at("does_not_fit").empty());
  CHECK(rows[1].at("requests.arrived") == "19366");
}

}  // namespace
}  // namespace blockyard::report
