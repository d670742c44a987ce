// The shipped entries and scenarios, and the tables of keys that they are read by.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/scenario/describe.h"
#include "sim/scenario/hardware_keys.h"
#include "sim/scenario/load.h"
#include "sim/scenario/scenario_keys.h"

using namespace blockyard;
using namespace blockyard::scenario;
namespace fs = std::filesystem;

namespace {

const fs::path kConfigs = fs::path(BLOCKYARD_SOURCE_DIR) / "configs";
const NameDocs kElementTypes{{"fp32", ""}, {"bf16", ""}, {"fp16", ""}, {"fp8", ""}, {"int8", ""}};

std::vector<fs::path> yaml_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

NameDocs entries(const char* folder) {
  NameDocs names;
  for (const fs::path& file : yaml_files(kConfigs / folder)) names.push_back({file.stem().string(), ""});
  return names;
}

Schema scenario_keys() {
  return scenario_schema(
      {.models = entries("models"),
       .gpus = entries("gpus"),
       .trace_formats = {{"azure", ""}, {"blockyard", ""}},
       .arrival_processes = {{"poisson", ""}, {"constant", ""}, {"gamma", ""}, {"weibull", ""}, {"on_off", ""}},
       .length_distributions = {{"constant", ""}, {"uniform", ""}, {"lognormal", ""}},
       .max_tokens_rules = {{"true_length", ""}, {"constant", ""}},
       .schedulers = {{"vllm-v1", ""}, {"orca", ""}},
       .engine_presets = {{"vllm-0.13", ""}, {"vllm-0.19", ""}},
       .queue_orders = {{"fcfs", ""}, {"priority", ""}, {"longest_prefix", ""}},
       .routers = {{"vllm", ""}, {"round_robin", ""}},
       .strategies = {{"paged", ""}, {"contiguous", ""}, {"none", ""}},
       .reservations = {{"max_model_len", ""}, {"max_tokens", ""}, {"oracle", ""}},
       .placements = {{"buddy", ""}, {"first_fit", ""}},
       .evictions = {{"lru", ""}, {"fifo", ""}, {"leaf_lru", ""}},
       .cache_admissions = {{"always", ""}, {"tinylfu", ""}},
       .kv_dtypes = kElementTypes,
       .preemption_modes = {{"recompute", ""}},
       .victims = {{"engine", ""}},
       .cost_models = {{"roofline", ""}, {"fixed", ""}}});
}

std::string contents(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::int64_t kv_bytes_per_token(const Document& model) {
  return 2 * model.integer("num_hidden_layers") * model.integer("num_key_value_heads") * 2 * model.integer("head_dim");
}

// Parameters by their shapes: embedding and head, and per layer attention, MLP (or experts and their router).
std::int64_t matrices(const Document& model) {
  const std::int64_t hidden = model.integer("hidden_size");
  const std::int64_t q = model.integer("num_attention_heads") * model.integer("head_dim");
  const std::int64_t kv = model.integer("num_key_value_heads") * model.integer("head_dim");
  const std::int64_t mlp = (model.boolean("gated_mlp") ? 3 : 2) * hidden * model.integer("intermediate_size");
  const std::int64_t experts = model.integer("num_experts");
  const std::int64_t layer = 2 * hidden * (q + kv) + (experts > 0 ? experts * (mlp + hidden) : mlp);
  return (model.boolean("tie_word_embeddings") ? 1 : 2) * model.integer("vocab_size") * hidden +
         model.integer("learned_position_embeddings") * hidden + model.integer("num_hidden_layers") * layer;
}

}  // namespace

TEST_CASE("every model entry is valid, and its KV bytes and size are the published ones") {
  struct Published {
    std::int64_t kv_bytes;
    double billions;  // parameters, from the model cards or safetensors indices
  };
  const std::map<std::string, Published> published{
      {"llama-2-7b", {524'288, 6.738}},     {"llama-2-13b", {819'200, 13.016}},  {"llama-2-70b", {327'680, 68.977}},
      {"llama-3-8b", {131'072, 8.030}},     {"llama-3.1-8b", {131'072, 8.030}},  {"llama-3-70b", {327'680, 70.554}},
      {"codellama-34b", {196'608, 33.744}}, {"mistral-7b", {131'072, 7.242}},    {"qwen2.5-7b", {57'344, 7.616}},
      {"qwen3-32b", {262'144, 32.762}},     {"mixtral-8x7b", {131'072, 46.703}}, {"opt-13b", {819'200, 12.853}},
  };
  const std::string readme = contents(kConfigs / "README.md");
  const std::vector<fs::path> files = yaml_files(kConfigs / "models");
  CHECK(files.size() == published.size());
  for (const fs::path& file : files) {
    const Document model = load(file, model_schema(kElementTypes));
    const std::string name = file.stem().string();
    INFO(name);
    REQUIRE(published.count(name) == 1);
    CHECK(kv_bytes_per_token(model) == published.at(name).kv_bytes);
    // Norms and biases are left out: below 0.1 % of the whole.
    CHECK(static_cast<double>(matrices(model)) / 1e9 == Approx(published.at(name).billions).epsilon(0.001));
    CHECK(model.integer("num_attention_heads") % model.integer("num_key_value_heads") == 0);

    const auto grouped = [](std::int64_t n) {
      std::string digits = std::to_string(n);
      for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), ",");
      return digits;
    };
    CHECK(contents(file).find(grouped(published.at(name).kv_bytes) + " B a token") != std::string::npos);
    CHECK(readme.find(fmt::format("| `{}` | {} | {} |", name, grouped(published.at(name).kv_bytes),
                                  grouped(model.tokens("max_position_embeddings").count()))) != std::string::npos);
  }
}

TEST_CASE("every GPU entry is valid and stands in the README") {
  const std::string readme = contents(kConfigs / "README.md");
  const std::vector<fs::path> files = yaml_files(kConfigs / "gpus");
  CHECK(files.size() == 13);
  for (const fs::path& file : files) {
    const Document gpu = load(file, gpu_schema());
    INFO(file);
    CHECK(gpu.is_set("calibration"));
    const double gib = static_cast<double>(gpu.bytes("memory").count()) / 1073741824.0;
    CHECK(readme.find(fmt::format("| `{}` | {} GiB | ", file.stem().string(), std::round(gib * 100) / 100)) !=
          std::string::npos);
    // Attention constants come as one fit or not at all.
    const bool own = gpu.is_word("calibration.attention_form", "own");
    for (const char* key :
         {"decode_memory_efficiency", "decode_overhead", "prefill_compute_efficiency", "prefill_overhead"}) {
      CHECK(gpu.has_value(std::string("calibration.") + key) == own);
    }
    CHECK(gpu.has_value("calibration.elementwise_overhead") == gpu.is_word("calibration.elementwise_form", "fused"));
    const bool flash_attention_2 = gpu.is_word("attention_kernel", "flash_attention_2");
    CHECK(gpu.is("calibration.mixed_decode_factor", Kind::real) == flash_attention_2);
  }
  CHECK(load(kConfigs / "gpus" / "rtx-4090.yaml", gpu_schema()).bytes("memory") == Bytes(25'250'627'584));
}

TEST_CASE("every shipped scenario is valid and stands in the README") {
  const std::string readme = contents(kConfigs / "README.md");
  const std::vector<fs::path> files = yaml_files(kConfigs);
  CHECK(files.size() >= 4);
  for (const fs::path& file : files) {
    INFO(file);
    const Document scenario = load(file, scenario_keys());
    CHECK(scenario.is_set("workload.trace") != scenario.is_set("workload.generate"));
    CHECK(readme.find(fmt::format("| `{}` |", file.filename().string())) != std::string::npos);
  }
}

TEST_CASE("the default of every key is a value that the key takes") {
  const std::string required = "model: opt-13b\nhardware: {gpu: l4}\n";
  const Schema schema = scenario_keys();
  const Document defaults = parse(required, "chat.yaml", schema);
  int with_default = 0;
  for (const Key& key : schema.keys()) {
    INFO(key.path);
    CHECK_FALSE(key.doc.empty());
    CHECK(defaults.has_value(key.path) == (key.fallback.has_value() || key.required_in == ""));
    if (!key.fallback) continue;
    // A section with required keys cannot hold one alone.
    if (key.path.rfind("workload.trace", 0) == 0 || key.path.rfind("workload.generate", 0) == 0) continue;
    const Document given =
        parse(required, "chat.yaml", schema, std::vector<std::string>{key.path + "=" + *key.fallback});
    CHECK(given.is_set(key.path));
    CHECK(given.kind(key.path) == defaults.kind(key.path));
    ++with_default;
  }
  CHECK(with_default > 20);
}

TEST_CASE("engine flags are answered with the key that they are here") {
  const std::map<std::string, std::string> flags{{"num_gpu_blocks_override", "kv_cache.budget"},
                                                 {"kv_cache_dtype", "kv_cache.dtype"},
                                                 {"scheduling_policy", "engine.queue_order"},
                                                 {"--max-num-seqs", "engine.max_num_seqs"},
                                                 {"gpu_memory_utilization", "hardware.gpu_memory_utilization"},
                                                 {"request_rate", "workload.generate.arrivals.rate"}};
  for (const auto& [flag, key] : flags) {
    std::string message;
    try {
      static_cast<void>(parse("model: opt-13b\nhardware: {gpu: l4}\n" + flag + ": 1\n", "chat.yaml", scenario_keys()));
    } catch (const InputError& error) {
      message = error.what();
    }
    CHECK(message == fmt::format("chat.yaml:3:1: {}: unknown key; here it is {}", flag, key));
  }
  std::string message;
  try {
    static_cast<void>(load(kConfigs / "models" / "opt-13b.yaml", model_schema(kElementTypes),
                           std::vector<std::string>{"num_local_experts=8"}));
  } catch (const InputError& error) {
    message = error.what();
  }
  CHECK(message == "--set num_local_experts=8: num_local_experts: unknown key; here it is num_experts");
}
