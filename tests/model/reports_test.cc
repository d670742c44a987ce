// What engines printed when they started (kv_capacity_reports.csv): memory split -> GiB, GiB -> tokens or blocks,
// tokens or blocks -> concurrency, refusals, swap space -> blocks. Each row is checked in every way that it states
// enough for, or named below with the reason why it cannot be.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "sim/model/hf_config.h"
#include "sim/model/sizing.h"
#include "tests/model/published_models.h"

using namespace blockyard;
using namespace blockyard::model;
namespace fs = std::filesystem;

namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
using Row = std::map<std::string, std::string>;

const std::map<std::string, std::string> kReasons{
    {"K013", "the activation peak of 32-bit weights is not stated"},
    {"K054", "blocks alone: neither memory split nor GiB nor a length"},
    {"K055", "blocks alone: neither memory split nor GiB nor a length"},
    {"K069", "GiB alone: neither tokens nor blocks"},
    {"K071", "GiB alone: neither tokens nor blocks, and the GPU is not named"},
    {"K073", "GiB and tokens are round figures (~50, ~525k)"},
    {"K076", "tokens alone: no GiB, no blocks, no concurrency"},
    {"K086", "the pages of its speculative decoding are not stated"},
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

std::vector<Row> rows_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::vector<std::string> names;
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = cells_of(line);
    if (names.empty()) {
      names = cells;
      continue;
    }
    Row row;
    for (std::size_t i = 0; i < names.size() && i < cells.size(); ++i) row[names[i]] = cells[i];
    rows.push_back(row);
  }
  return rows;
}

std::optional<double> number(const Row& row, const char* key) {
  const std::string& text = row.at(key);
  return text.empty() ? std::nullopt : std::optional(std::stod(text));
}

std::string words(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(fs::path(BLOCKYARD_SOURCE_DIR) / "configs/models" / (name + ".json")).rdbuf();
  return text.str();
}

std::optional<ModelSpec> spec_of(const Row& row) {
  static const std::map<std::string, std::string> entries{{"Qwen3-8B", "qwen3-8b"},
                                                          {"Qwen3-14B", "qwen3-14b"},
                                                          {"Qwen3-30B-A3B", "qwen3-30b-a3b"},
                                                          {"Qwen3-235B", "qwen3-235b-a22b"},
                                                          {"Qwen3-480B", "qwen3-coder-480b-a35b"},
                                                          {"Mistral-Small-24B", "mistral-small-3.2-24b"},
                                                          {"Llama-4-Scout", "llama-4-scout-17b-16e"},
                                                          {"Qwen1.5-7B", "qwen1.5-7b"},
                                                          {"Qwen1.5-72B", "qwen1.5-72b"},
                                                          {"Phi-3-vision", "phi-3-vision-4.2b"},
                                                          {"Qwen2.5-1.5B", "qwen2.5-1.5b"},
                                                          {"phi-4", "phi-4-14b"},
                                                          {"MiniMax-M2.7", "minimax-m2.7"},
                                                          {"gpt-oss-120b", "gpt-oss-120b"}};
  const std::string& arch = row.at("arch");
  const std::string& name = row.at("model");
  if (name == "gemma-4-31b-it") return model_from_hf_json(words("gemma-4-31b"), "gemma-4-31b");
  if (name == "gemma-4-E2B") return model_from_hf_json(words("gemma-4-e2b"), "gemma-4-e2b");
  if (entries.count(arch) == 1) return model_from_hf_json(words(entries.at(arch)), entries.at(arch));
  if (arch == "Llama-3-8B" || arch == "Llama-3.1-8B+EAGLE") return llama_3_8b();
  if (arch == "Llama-3-70B") return llama_3_70b();
  if (arch == "Llama-2-7b") return llama_2_7b();
  if (arch == "Llama-2-70b") return llama_2_70b();
  if (arch == "Qwen3-32B") return qwen3_32b();
  if (arch == "Qwen2.5-7B") return qwen2_5_7b();
  if (arch == "Mixtral-8x7B") return mixtral_8x7b();
  if (arch == "Mistral-Nemo") return mistral_nemo_12b();
  return std::nullopt;
}

SizeOptions options_of(const Row& row) {
  SizeOptions o;
  o.tp = static_cast<std::int64_t>(number(row, "tp").value_or(1));
  o.pp = static_cast<std::int64_t>(number(row, "pp").value_or(1));
  if (row.at("kv_dtype") == "fp8") o.kv_dtype = ElementType::fp8;
  if (row.at("kv_dtype") == "auto") o.kv_dtype = ElementType::bf16;
  if (const auto limit = number(row, "max_model_len")) o.max_model_len = Tokens(static_cast<std::int64_t>(*limit));
  o.gpu_memory_utilization = number(row, "gpu_mem_util").value_or(0.9);
  // Engines' own default on GPUs of 70 GiB and more, 2,048 on others.
  const bool large = row.at("gpu").find("H100") == 0 || row.at("gpu").find("H200") == 0;
  o.max_num_batched_tokens =
      Tokens(static_cast<std::int64_t>(number(row, "max_num_batched_tokens").value_or(large ? 8192 : 2048)));
  o.block_size =
      Tokens(static_cast<std::int64_t>(number(row, "block_size").value_or(row.at("engine") == "SGLang" ? 1 : 16)));
  if (row.at("id") == "K097") o.draft_layers = 1;          // an EAGLE head of one layer
  if (row.at("id") == "K061") o.block_size = Tokens(512);  // a TPU's pages
  if (row.at("id") == "K123") o.engine = Engine::vllm_v0;  // an engine before V1
  return o;
}

std::string printed(double value) { return fmt::format("{:.2f}", value); }

bool check_split(const Row& row, const ModelSpec& spec, const SizeOptions& given) {
  const auto total = number(row, "gpu_total_GiB");
  const auto weights = number(row, "weights_GiB");
  const auto activation = number(row, "activation_GiB");
  const auto non_torch = number(row, "non_torch_GiB");
  const auto kv = number(row, "kv_GiB");
  if (!total || !weights || !kv || kReasons.count(row.at("id")) == 1) return false;
  const auto bytes = [](double gib) { return Bytes(std::llround(gib * kGiB)); };
  SizeOptions o = given;
  o.given.weights = bytes(*weights);
  o.given.cuda_graphs = Bytes(0);
  if (activation && non_torch) {
    o.given.activation_peak = bytes(*activation);
    o.given.non_torch = bytes(*non_torch);
  } else {  // by the rule of its version, with that report's 1,024 sequences
    o.overheads = "vllm-0.19";
    o.max_num_seqs = 1024;
  }
  GpuSpec gpu;
  gpu.memory_bytes = bytes(*total);
  CHECK(static_cast<double>(size_of(spec, gpu, o).kv_bytes.count()) / kGiB == Approx(*kv).margin(0.02));
  return true;
}

bool check_amounts(const Row& row, const ModelSpec& spec, const SizeOptions& given) {
  const auto kv = number(row, "kv_GiB");
  const auto tokens = number(row, "kv_tokens");
  const auto blocks = number(row, "gpu_blocks");
  if (!kv || (!tokens && !blocks)) return false;
  SizeOptions o = given;
  o.request = Bytes(std::llround(*kv * kGiB));
  const Sizing s = size_of(spec, {}, o);
  if (tokens) CHECK(static_cast<double>(s.kv_tokens.count()) == Approx(*tokens).epsilon(0.002));
  if (blocks) CHECK(static_cast<double>(s.kv_blocks.count()) == Approx(*blocks).epsilon(0.002));
  return true;
}

// Blocks x block size, and the longest sequence that is left to an engine which refuses.
bool check_tokens(const Row& row, const ModelSpec& spec, const SizeOptions& given) {
  const auto tokens = number(row, "kv_tokens");
  const auto blocks = number(row, "gpu_blocks");
  const bool refused = row.at("outcome").find("FAIL") == 0;
  if (!tokens || (!blocks && !refused)) return false;
  SizeOptions o = given;
  o.hybrid_manager = row.at("arch") != "Llama-4-Scout";
  if (blocks) {
    o.request = Blocks(static_cast<std::int64_t>(*blocks));
  } else {
    o.request = Tokens(static_cast<std::int64_t>(*tokens));
  }
  const Sizing s = size_of(spec, {}, o);
  CHECK(s.kv_tokens.count() == static_cast<std::int64_t>(*tokens));
  if (refused) {
    CHECK_FALSE(s.fits);
    CHECK(s.largest_max_model_len->count() == static_cast<std::int64_t>(*tokens));
  }
  return true;
}

bool check_concurrency(const Row& row, const std::optional<ModelSpec>& spec, const SizeOptions& given) {
  const auto concurrency = number(row, "max_concurrency");
  const auto tokens = number(row, "kv_tokens");
  const auto blocks = number(row, "gpu_blocks");
  if (!concurrency || !given.max_model_len || (!tokens && !blocks)) return false;
  const double said = *concurrency;
  // Layers of several kinds: the engine's tokens are concurrency x length, whatever the pool.
  const bool mixed = !spec || kv_layout(*spec, whole_model(*spec), LayoutOptions{}).hybrid();
  if (mixed && !tokens) {
    CHECK(printed(*blocks * 16 / static_cast<double>(given.max_model_len->count())) == printed(said));
  } else if (mixed) {
    const double exact = *tokens / static_cast<double>(given.max_model_len->count());
    CHECK(exact == Approx(said).margin(0.005));
  } else {
    SizeOptions o = given;
    if (blocks) {
      o.request = Blocks(static_cast<std::int64_t>(*blocks));
    } else {
      o.request = Tokens(static_cast<std::int64_t>(*tokens));
    }
    const Sizing s = size_of(*spec, {}, o);
    CHECK(printed(s.max_concurrency) == printed(said));
    CHECK(s.fits == (said >= 1));
  }
  return true;
}

bool check_refusal(const Row& row, const ModelSpec& spec, const SizeOptions& given) {
  std::smatch found;
  const std::string outcome = row.at("outcome");
  const auto kv = number(row, "kv_GiB");
  if (!kv || !std::regex_search(outcome, found, std::regex("needs ([0-9.]+) GiB; estimate ([0-9]+)"))) return false;
  SizeOptions o = given;
  o.request = Bytes(std::llround(*kv * kGiB));
  const Sizing s = size_of(spec, {}, o);
  CHECK_FALSE(s.fits);
  CHECK(printed(static_cast<double>(s.needed_bytes.count()) / kGiB) == found[1].str());
  // The printed GiB are rounded: what they stand for lies within half of the last digit.
  SizeOptions less = o;
  less.request = Bytes(std::llround((*kv - 0.005) * kGiB));
  SizeOptions more = o;
  more.request = Bytes(std::llround((*kv + 0.005) * kGiB));
  const std::int64_t estimate = std::stoll(found[2].str());
  CHECK(size_of(spec, {}, less).largest_max_model_len->count() <= estimate);
  CHECK(size_of(spec, {}, more).largest_max_model_len->count() >= estimate);
  CHECK(estimate % o.block_size.count() == 0);
  return true;
}

// floor(4 GiB / (block size x bytes a token)) blocks of swap space.
bool check_swap_blocks(const Row& row, const ModelSpec& spec, const SizeOptions& o) {
  std::smatch found;
  const std::string notes = row.at("notes");
  if (!std::regex_search(notes, found, std::regex("([0-9,]+) CPU blocks")) &&
      !std::regex_search(notes, found, std::regex("CPU blocks ([0-9,]+)"))) {
    return false;
  }
  const std::string digits = std::regex_replace(found[1].str(), std::regex(","), "");
  LayoutOptions pages;
  pages.split.tp = o.tp;
  const KvLayout layout = kv_layout(spec, whole_model(spec), pages);
  CHECK((4LL << 30) / layout.block_bytes.count() == std::stoll(digits));
  return true;
}

// Weights as loaded are what the shapes make, within 0.1 GiB of buffers.
bool check_weights(const Row& row, const ModelSpec& spec, const SizeOptions& o) {
  const auto weights = number(row, "weights_GiB");
  if (!weights || row.at("dtype") != "bf16" || row.at("outcome") != "memory split only") return false;
  const Stage stage = pipeline_stages(spec.num_hidden_layers, o.pp).front();
  CHECK(static_cast<double>(weight_bytes_per_gpu(spec, o.tp, stage).count()) / kGiB == Approx(*weights).margin(0.1));
  const MemoryOverheads ruled = overhead_preset("vllm-0.19")->compute(spec, {o.tp, o.pp, stage, Tokens(8192), 1024});
  CHECK(static_cast<double>(ruled.activation_peak.count()) / kGiB ==
        Approx(*number(row, "activation_GiB")).margin(0.06));
  CHECK(static_cast<double>(ruled.non_torch.count()) / kGiB == Approx(*number(row, "non_torch_GiB")).margin(0.02));
  return true;
}

}  // namespace

TEST_CASE("what engines reported at their start is reproduced, row by row") {
  const std::string path = std::string(BLOCKYARD_DATA_DIR) + "/facts/kv_capacity_reports.csv";
  const std::vector<Row> rows = rows_of(path);
  if (rows.empty()) {
    WARN("test skipped: " << path << " is not there");
    return;
  }
  int reproduced = 0;
  for (const Row& row : rows) {
    const std::string& id = row.at("id");
    INFO(id << " " << row.at("model"));
    const SizeOptions options = options_of(row);
    const std::optional<ModelSpec> spec = spec_of(row);
    std::vector<std::string> ways;
    const auto tried = [&](const char* way, bool done) {
      if (done) ways.emplace_back(way);
    };
    tried("concurrency", check_concurrency(row, spec, options));
    if (spec) {
      tried("split", check_split(row, *spec, options));
      tried("GiB", check_amounts(row, *spec, options));
      tried("tokens", check_tokens(row, *spec, options));
      if (kReasons.count(id) == 0) tried("refusal", check_refusal(row, *spec, options));
      tried("swap", check_swap_blocks(row, *spec, options));
      tried("weights", check_weights(row, *spec, options));
    } else if (const auto tokens = number(row, "kv_tokens"); tokens && number(row, "gpu_blocks")) {
      CHECK(*number(row, "gpu_blocks") * 16 == *tokens);
      ways.emplace_back("tokens");
    }
    if (ways.empty()) {
      INFO("a row that is not reproduced needs a reason");
      CHECK(kReasons.count(id) == 1);
      fmt::print("{} not reproduced: {}\n", id, kReasons.count(id) == 1 ? kReasons.at(id) : "");
    } else {
      CHECK(kReasons.count(id) == 0);
      ++reproduced;
    }
  }
  fmt::print("{} of {} reports of engines reproduced\n", reproduced, rows.size());
  CHECK(reproduced + static_cast<int>(kReasons.size()) >= static_cast<int>(rows.size()));
}
