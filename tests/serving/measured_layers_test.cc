// Whole layers (linear kernels and attention) of the GPUs' entries beside measured ones.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/cost/roofline.h"
#include "sim/serving/hardware.h"
#include "tests/cost/calibrated_gpus.h"
#include "tests/cost/kernel_tables.h"

using namespace blockyard;
using namespace blockyard::cost;

namespace {

const std::filesystem::path kConfigs = std::filesystem::path(BLOCKYARD_SOURCE_DIR) / "configs";

std::vector<model::ModelSpec> catalogue() {
  std::vector<model::ModelSpec> models;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs / "models"))
    models.push_back(serving::load_model_file(entry.path()));
  return models;
}

// One layer of one rank: the table's heads are a rank's, its ff is whole. What it does not say of a model (a gate,
// biases) is that of an entry of the same sizes.
model::ModelSpec rank_of(const Row& row, const std::vector<model::ModelSpec>& models) {
  const std::int64_t tp = integer(row, "tp");
  model::ModelSpec rank;
  for (const model::ModelSpec& known : models) {
    if (known.hidden_size == integer(row, "d") && known.intermediate_size == integer(row, "ff") &&
        known.num_attention_heads == integer(row, "nq") * tp && known.num_experts == 0) {
      rank.gated_mlp = known.gated_mlp;
      rank.head_dim = known.head_dim;
    }
  }
  if (rank.head_dim == 0) rank.head_dim = integer(row, "d") / (integer(row, "nq") * tp);
  rank.name = "rank";
  rank.num_hidden_layers = 1;
  rank.hidden_size = integer(row, "d");
  rank.intermediate_size = integer(row, "ff") / tp;
  rank.num_attention_heads = integer(row, "nq");
  rank.num_key_value_heads = integer(row, "nkv");
  rank.vocab_size = 32000;
  rank.max_position_embeddings = 16384;
  return rank;
}

double layer_us(const Row& row, const serving::GpuEntry& gpu, const std::vector<model::ModelSpec>& models) {
  const auto cost = make_roofline(rank_of(row, models), gpu.spec, gpu.calibration, {});
  StepWork work;
  if (row.at("phase") == "decode") {
    work.decode_sequences = integer(row, "b");
    work.decode_kv_tokens = integer(row, "b") * integer(row, "ctx");
    work.decode_longest = integer(row, "ctx");
  } else {
    const std::int64_t length = integer(row, "M") / integer(row, "b");
    for (std::int64_t i = 0; i < integer(row, "b"); ++i)
      cost->add_chunk(work, Tokens(length), Tokens(integer(row, "ctx") - length));
  }
  return to_seconds(cost->step(work)) * 1e6;
}

std::map<std::string, Errors> layer_errors(const std::string& table, const std::string& name) {
  const serving::GpuEntry gpu = serving::gpu_named(name, kConfigs);
  const std::vector<model::ModelSpec> models = catalogue();
  std::map<std::string, Errors> errors;
  for (const Row& row : read_table(table)) {
    const double ours = layer_us(row, gpu, models);
    const double theirs = std::stod(row.at("t_us"));
    for (const std::string& key : {row.at("model"), row.at("model") + " " + row.at("phase")})
      errors[key].add(ours, theirs);
  }
  for (const auto& [key, e] : errors) fmt::print("{} {}: MAPE {:.1f} %, {} rows\n", name, key, e.mape(), e.rows);
  return errors;
}

}  // namespace

// Whatever models the tables hold: none was seen by the fit but Llama-2-7B.
TEST_CASE("whole layers of every model are within 6 % on average") {
  for (const auto& [table, gpu] : {std::pair("layer_iteration_a100.csv", "a100-80gb-sxm"),
                                   std::pair("layer_iteration_h100.csv", "h100-80gb-sxm")}) {
    for (const auto& [key, errors] : layer_errors(table, gpu)) {
      INFO(gpu << ' ' << key);
      if (key.find(' ') == std::string::npos) CHECK(errors.mape() < 6);
    }
  }
}

TEST_CASE("the GPUs of the cost model's tests are the catalogue's") {
  for (const auto& [name, g] :
       {std::pair("a100-80gb-sxm", a100()), std::pair("h100-80gb-sxm", h100()), std::pair("l40s", l40s()),
        std::pair("rtx-4090", rtx_4090()), std::pair("rtx-pro-6000", rtx_pro_6000())}) {
    INFO(name);
    const serving::GpuEntry entry = serving::gpu_named(name, kConfigs);
    Calibration expected = g.calibration;
    expected.source = entry.calibration.source;
    expected.error = entry.calibration.error;
    CHECK(entry.calibration == expected);
    CHECK(entry.spec.bf16_flops_per_s == Approx(g.gpu.bf16_flops_per_s));
    CHECK(entry.spec.fp8_flops_per_s == Approx(g.gpu.fp8_flops_per_s));
    CHECK(entry.spec.memory_bandwidth_bytes_per_s == Approx(g.gpu.memory_bandwidth_bytes_per_s));
    CHECK(entry.spec.sm_count == g.gpu.sm_count);
    CHECK(entry.spec.shared_memory_per_sm == g.gpu.shared_memory_per_sm);
    CHECK(entry.spec.attention_kernel == g.gpu.attention_kernel);
    CHECK(entry.spec.gpu_link_bytes_per_s == Approx(g.gpu.gpu_link_bytes_per_s));
    CHECK(entry.spec.pcie_bytes_per_s == Approx(g.gpu.pcie_bytes_per_s));
  }
}
