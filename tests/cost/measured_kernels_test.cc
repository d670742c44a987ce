// Our times beside measured ones: whole layers (linear kernels and attention) and attention alone. The bounds are those
// of the fit; where it was made on the same rows, the test says so.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "sim/cost/attention_time.h"
#include "sim/cost/roofline.h"
#include "tests/cost/calibrated_gpus.h"
#include "tests/model/published_models.h"

using namespace blockyard;
using namespace blockyard::cost;

namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  if (!cells.empty() && !cells.back().empty() && cells.back().back() == '\r') cells.back().pop_back();
  return cells;
}

// No rows where the file is absent.
std::vector<Row> read_table(const std::string& name) {
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

std::int64_t integer(const Row& row, const char* column) { return std::stoll(row.at(column)); }

// One layer of one rank: the table's heads are per rank, its ff is whole.
double layer_us(const Row& row, const CalibratedGpu& g) {
  const model::ModelSpec rank = model::decoder({"rank", 1, integer(row, "d"), integer(row, "ff") / integer(row, "tp"),
                                                integer(row, "nq"), integer(row, "nkv"), 128, 32000, 16384});
  const auto cost = make_roofline(rank, g.gpu, g.calibration, {});
  StepWork work;
  if (row.at("phase") == "decode") {
    work.decode_sequences = integer(row, "b");
    work.decode_kv_tokens = integer(row, "b") * integer(row, "ctx");
    work.decode_longest = integer(row, "ctx");
  } else {
    cost->add_chunk(work, Tokens(integer(row, "M")), Tokens(0));
  }
  return to_seconds(cost->step(work)) * 1e6;
}

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

std::map<std::string, Errors> layer_errors(const std::string& name, const CalibratedGpu& g) {
  std::map<std::string, Errors> errors;
  for (const Row& row : read_table(name)) {
    const double ours = layer_us(row, g);
    const double theirs = std::stod(row.at("t_us"));
    for (const std::string& key : {row.at("model"), row.at("model") + " " + row.at("phase")})
      errors[key].add(ours, theirs);
  }
  for (const auto& [key, e] : errors) fmt::print("{} {}: MAPE {:.1f} %, {} rows\n", g.gpu.name, key, e.mape(), e.rows);
  return errors;
}

}  // namespace

// Whatever models the tables hold: none was seen by the fit but Llama-2-7B.
TEST_CASE("whole layers of every model are within 6 % on average") {
  for (const auto& [table, gpu] :
       {std::pair("layer_iteration_a100.csv", a100()), std::pair("layer_iteration_h100.csv", h100())}) {
    for (const auto& [key, errors] : layer_errors(table, gpu)) {
      INFO(gpu.gpu.name << ' ' << key);
      if (key.find(' ') == std::string::npos) CHECK(errors.mape() < 6);
    }
  }
}

TEST_CASE("prefill attention with its own constants") {
  struct Measured {
    CalibratedGpu g;
    const char* table;
    double efficiency, memory_efficiency;
    Seconds overhead_s;
  };
  for (const Measured& m : {Measured{a100(), "attn_prefill_a100_aic_vllm0.14.0_32q.csv", 0.583, 0.433, 12e-6},
                            Measured{h100(), "attn_prefill_h100_aic_vllm0.19.0_32q.csv", 0.771, 0.853, 10.4e-6}}) {
    Calibration c = m.g.calibration;
    c.attention_form = AttentionForm::own;
    c.prefill_compute_efficiency = m.efficiency;
    c.prefill_memory_efficiency = m.memory_efficiency;
    c.prefill_overhead_s = m.overhead_s;
    c.prefill_occupancy = false;
    Errors errors;
    for (const Row& row : read_table(m.table)) {
      const model::ModelSpec layer = model::decoder(
          {"layer", 1, 4096, 4096, integer(row, "num_heads"), integer(row, "num_key_value_heads"), 128, 32000, 16384});
      const AttentionTime attention(layer, m.g.gpu, c, 1, model::ElementType::bf16);
      const std::int64_t sequences = integer(row, "batch_size");
      const std::int64_t length = integer(row, "isl");
      StepWork work;
      work.prefill_sequences = sequences;
      work.prefill_tokens = work.prefill_kv_tokens = sequences * length;
      work.prefill_pairs = static_cast<double>(sequences) * attention.pairs(length, 0);
      errors.add(attention.seconds(work) * 1e6, std::stod(row.at("t_us")));
    }
    if (errors.rows == 0) continue;
    fmt::print("{} prefill attention: WAPE {:.1f} %, {} rows\n", m.g.gpu.name, errors.wape(), errors.rows);
    CHECK(errors.wape() < 3);
  }
}
