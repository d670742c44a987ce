#include "sim/model/memory_budget.h"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "sim/model/weights.h"
#include "tests/model/published_models.h"

using namespace blockyard;
using namespace blockyard::model;

namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

GpuSpec gpu_with(std::int64_t bytes) {
  GpuSpec gpu;
  gpu.memory_bytes = Bytes(bytes);
  return gpu;
}

const GpuSpec kH100 = gpu_with(static_cast<std::int64_t>(79.19 * kGiB));  // as the driver reports it
const GpuSpec kRtx4090 = gpu_with(25'250'627'584);

Bytes sum(const MemoryBudget& budget) {
  Bytes total;
  for (const BudgetLine& line : budget.lines) total += line.bytes;
  return total;
}

}  // namespace

TEST_CASE("the lines of a budget add up to the KV bytes, and blocks are whole") {
  const bool held = rc::check([] {
    BudgetOptions o;
    o.tensor_parallel_size = *rc::gen::element<std::int64_t>(1, 2, 4, 8);
    o.gpu_memory_utilization = static_cast<double>(*rc::gen::inRange(1, 101)) / 100;
    o.max_num_batched_tokens = Tokens(*rc::gen::inRange(1, 65536));
    o.block_size = Tokens(*rc::gen::element<std::int64_t>(1, 16, 32, 512));
    const std::int64_t amount = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
    o.request = *rc::gen::element<BudgetRequest>(FromGpuMemory{}, Blocks(amount), Tokens(amount), Bytes(amount * 1000));
    const ModelSpec spec = *rc::gen::element(llama_3_8b(), llama_2_7b(), mixtral_8x7b());
    const MemoryBudget budget = compute_budget(spec, kH100, o);
    RC_ASSERT(sum(budget) == budget.kv_bytes);
    RC_ASSERT(budget.tokens.count() == budget.blocks.count() * o.block_size.count());
    RC_ASSERT(budget.blocks >= Blocks(0));
    if (budget.kv_bytes > Bytes(0)) {
      const Bytes used = budget.bytes_per_token * budget.tokens.count();
      RC_ASSERT(used <= budget.kv_bytes);
      RC_ASSERT(used + budget.bytes_per_token * o.block_size.count() > budget.kv_bytes);
    }
  });
  REQUIRE(held);
}

TEST_CASE("an amount given outright is taken as it stands") {
  BudgetOptions o;
  o.request = Blocks(30'720);
  CHECK(compute_budget(llama_3_8b(), kH100, o).tokens == Tokens(491'520));
  o.request = Tokens(1'000);
  CHECK(compute_budget(llama_3_8b(), kH100, o).blocks == Blocks(62));
  o.request = Bytes(static_cast<std::int64_t>(60 * kGiB));
  CHECK(compute_budget(llama_3_8b(), kH100, o).tokens == Tokens(491'520));
  // The worked example of the PagedAttention paper: 12 GiB hold 15,728 tokens of OPT-13B.
  o.request = Bytes(static_cast<std::int64_t>(12 * kGiB));
  o.block_size = Tokens(1);
  CHECK(compute_budget(opt_13b(), kH100, o).tokens == Tokens(15'728));
}

TEST_CASE("given overheads replace the rule, and a model too large leaves nothing") {
  BudgetOptions o;
  o.gpu_memory_utilization = 1;
  o.given = {std::nullopt, Bytes(100), Bytes(20), Bytes(3)};
  const MemoryBudget budget = compute_budget(llama_3_8b(), kH100, o);
  CHECK(budget.kv_bytes == kH100.memory_bytes - weight_bytes(llama_3_8b()) - Bytes(123));
  const MemoryBudget none = compute_budget(llama_3_70b(), kRtx4090, o);
  CHECK(none.kv_bytes < Bytes(0));
  CHECK(none.blocks == Blocks(0));
}

TEST_CASE("block counts that engines reported") {
  const std::string path = std::string(BLOCKYARD_DATA_DIR) + "/facts/memory_blocks.csv";
  std::ifstream file(path);
  if (!file) {
    WARN("test skipped: " << path << " is not there");
    return;
  }
  const std::map<std::string, ModelSpec> models{
      {"Llama-2-7B", llama_2_7b()},     {"CodeLlama-34B", codellama_34b()},       {"Mixtral-8x7B", mixtral_8x7b()},
      {"Llama-3.1-70B", llama_3_70b()}, {"Mistral-Nemo-12B", mistral_nemo_12b()}, {"Qwen2.5-7B", qwen2_5_7b()},
      {"Llama-3.1-8B", llama_3_8b()}};
  std::string line;
  std::getline(file, line);
  REQUIRE(line.rfind("model,gpu,tp,mbt,max_num_seqs,kv_blocks,kv_bytes_per_token_per_gpu", 0) == 0);
  double total_error = 0;
  int rows = 0;
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::vector<std::string> row;
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
    const ModelSpec& spec = models.at(row.at(0));
    BudgetOptions o;
    o.tensor_parallel_size = std::stoll(row.at(2));
    o.max_num_batched_tokens = Tokens(std::stoll(row.at(3)));
    const MemoryBudget budget = compute_budget(spec, row.at(1) == "H100" ? kH100 : kRtx4090, o);
    CHECK(budget.bytes_per_token == Bytes(std::stoll(row.at(6))));
    const double reported = std::stod(row.at(5));
    const double error = static_cast<double>(budget.blocks.count()) / reported - 1;
    fmt::print("{} on {} tp {}: {} blocks, reported {}, {:+.2f} %\n", row.at(0), row.at(1), row.at(2),
               budget.blocks.count(), reported, 100 * error);
    CHECK(std::abs(error) < 0.05);
    total_error += std::abs(error);
    ++rows;
  }
  REQUIRE(rows > 0);
  CHECK(total_error / rows < 0.02);
}
