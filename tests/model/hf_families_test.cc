// Families of config.json whose layers differ, by the numbers of public files and by closed forms; and files that are
// wrong in every way.
#include <fmt/format.h>
#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "sim/model/hf_config.h"
#include "sim/model/kv_geometry.h"
#include "sim/model/kv_layout.h"
#include "sim/model/weights.h"

using namespace blockyard;
using namespace blockyard::model;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

ModelSpec compiled(const json& config) { return model_from_hf_json(config.dump(), "m", "config.json"); }

std::vector<std::string> faults(const json& config) {
  std::vector<std::string> found;
  try {
    (void)compiled(config);
  } catch (const InputError& error) {
    for (const Diagnostic& d : error.diagnostics()) found.push_back(d.message);
  }
  return found;
}

std::int64_t bytes(const ModelSpec& spec) { return kv_bytes_per_token(kv_geometry(spec), KvSplit{}).count(); }
std::int64_t beyond(const ModelSpec& spec) {
  return kv_bytes_per_token_beyond_windows(kv_geometry(spec), KvSplit{}).count();
}
double fixed_mib(const ModelSpec& spec) {
  return static_cast<double>(fixed_bytes_per_sequence(kv_geometry(spec), KvSplit{}).count()) / (1 << 20);
}

json base(const char* architecture) {
  return {{"architectures", {architecture}}, {"torch_dtype", "bfloat16"}, {"hidden_size", 4096},
          {"intermediate_size", 11008},      {"num_hidden_layers", 32},   {"num_attention_heads", 32},
          {"num_key_value_heads", 8},        {"vocab_size", 32000},       {"max_position_embeddings", 32768}};
}

json with(json config, const json& more) {
  config.update(more);
  return config;
}

std::vector<json> catalogue() {
  std::vector<json> all;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(BLOCKYARD_SOURCE_DIR) / "configs/models")) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    all.push_back(json::parse(file));
  }
  return all;
}

}  // namespace

// 9 layers of 4 heads with 39 of 8 that look back 128; keys of 192 elements, values of 128.
TEST_CASE("MiMo-V2: windowed layers have heads of their own, keys are wider than values") {
  json pattern = json::array();
  json sparse = json::array();
  for (int i = 0; i < 48; ++i) {
    pattern.push_back(i % 6 == 0 || i == 47 ? 0 : 1);
    sparse.push_back(i > 0 ? 1 : 0);
  }
  const ModelSpec m = compiled(with(base("MiMoV2FlashForCausalLM"), {{"num_hidden_layers", 48},
                                                                     {"num_attention_heads", 64},
                                                                     {"num_key_value_heads", 4},
                                                                     {"head_dim", 192},
                                                                     {"v_head_dim", 128},
                                                                     {"swa_num_key_value_heads", 8},
                                                                     {"swa_head_dim", 192},
                                                                     {"swa_v_head_dim", 128},
                                                                     {"sliding_window", 128},
                                                                     {"hybrid_layer_pattern", pattern},
                                                                     {"moe_layer_freq", sparse},
                                                                     {"n_routed_experts", 256},
                                                                     {"num_experts_per_tok", 8},
                                                                     {"moe_intermediate_size", 2048}}));
  CHECK(bytes(m) == 222'720);
  CHECK(beyond(m) == 23'040);
}

TEST_CASE("Qwen2: a window counts where it is switched on, from max_window_layers on") {
  const json file = with(base("Qwen2ForCausalLM"), {{"sliding_window", 4096}, {"max_window_layers", 20}});
  CHECK(beyond(compiled(file)) == bytes(compiled(file)));
  const ModelSpec on = compiled(with(file, {{"use_sliding_window", true}}));
  CHECK(bytes(on) == 131'072);
  CHECK(beyond(on) == 20 * 4096);
  const ModelSpec off = compiled(with(file, {{"use_sliding_window", false}}));
  CHECK(beyond(off) == bytes(off));
}

TEST_CASE("layer_types decide, and an unknown one is not guessed") {
  json types = json::array();
  for (int i = 0; i < 32; ++i) types.push_back(i % 2 == 0 ? "sliding_attention" : "full_attention");
  json file = with(base("Olmo3ForCausalLM"), {{"sliding_window", 4096}, {"layer_types", types}});
  CHECK(beyond(compiled(file)) == bytes(compiled(file)) / 2);
  file["layer_types"][7] = "sparse_attention";
  REQUIRE(faults(file).size() == 1);
  CHECK(faults(file)[0].find("\"sparse_attention\" of layer 7 is not known: what such a layer keeps is missing here") !=
        std::string::npos);
  file["layer_types"] = json::array({"full_attention"});
  CHECK(faults(file)[0].find("found 1 entries, expected one for each of the 32 layers") != std::string::npos);
}

TEST_CASE("Llama 4: every fourth layer is global, the others keep their chunk") {
  const json file = {{"architectures", {"Llama4ForConditionalGeneration"}},
                     {"torch_dtype", "bfloat16"},
                     {"text_config", with(base("Llama4ForCausalLM"), {{"num_hidden_layers", 48},
                                                                      {"attention_chunk_size", 8192},
                                                                      {"no_rope_layers", json::array()},
                                                                      {"num_local_experts", 16}})}};
  const ModelSpec m = compiled(file);
  CHECK(bytes(m) == 48 * 4096);
  CHECK(beyond(m) == 12 * 4096);
  CHECK(kv_layout(m, whole_model(m), {}).full_for_windows);
  CHECK_FALSE(kv_layout(m, whole_model(m), {}).hybrid());
}

TEST_CASE("Falcon: one KV head, unless the new architecture names a number") {
  json file = base("FalconForCausalLM");
  file["num_attention_heads"] = 64;
  CHECK(bytes(compiled(with(file, {{"multi_query", true}}))) == 32 * 1 * 128 * 2);
  CHECK(bytes(compiled(with(file, {{"multi_query", false}}))) == 32 * 64 * 128 * 2);
  CHECK(bytes(compiled(with(file, {{"new_decoder_architecture", true}, {"num_kv_heads", 8}}))) == 32 * 8 * 128 * 2);
}

// 54 Mamba2 layers of 256 heads x 64 x state 256 and 3 x (16,384 + 2 x 8 x 256) of convolution, in 16 bits: 438.3 MiB.
TEST_CASE("Nemotron-H: a character a layer") {
  std::string pattern;
  for (int i = 0; i < 54; ++i) pattern += i < 10 ? "M-*" : "M-";
  const ModelSpec m = compiled(with(base("NemotronHForCausalLM"), {{"num_hidden_layers", 118},
                                                                   {"hidden_size", 8192},
                                                                   {"num_attention_heads", 64},
                                                                   {"attention_head_dim", 128},
                                                                   {"hybrid_override_pattern", pattern},
                                                                   {"mamba_num_heads", 256},
                                                                   {"mamba_head_dim", 64},
                                                                   {"ssm_state_size", 256},
                                                                   {"n_groups", 8},
                                                                   {"conv_kernel", 4},
                                                                   {"intermediate_size", 32768}}));
  CHECK(bytes(m) == 40'960);
  CHECK(fixed_mib(m) == Approx(438.3).margin(0.05));
  const KvSplit eight{8, 1, ElementType::bf16};
  CHECK(fixed_bytes_per_sequence(kv_geometry(m), eight).count() * 8 ==
        fixed_bytes_per_sequence(kv_geometry(m), KvSplit{}).count());
  CHECK(faults(with(base("NemotronHForCausalLM"), {{"hybrid_override_pattern", "M-?"}})).size() >= 2);
}

// 69 layers of 96 heads x 128 x 128 in 32 bits and three convolutions of 3 x 12,288 in 16: 428.6 MiB.
TEST_CASE("Kimi delta attention beside latents") {
  json full = json::array();
  json delta = json::array();
  for (int i = 1; i <= 93; ++i) (i % 4 == 0 || i == 93 ? full : delta).push_back(i);
  REQUIRE(full.size() == 24);
  const json file = with(base("KimiLinearForCausalLM"), {{"num_hidden_layers", 93},
                                                         {"kv_lora_rank", 512},
                                                         {"qk_nope_head_dim", 128},
                                                         {"qk_rope_head_dim", 64},
                                                         {"v_head_dim", 128},
                                                         {"num_experts", 8},
                                                         {"num_experts_per_token", 2},
                                                         {"moe_intermediate_size", 1024},
                                                         {"linear_attn_config",
                                                          {{"full_attn_layers", full},
                                                           {"kda_layers", delta},
                                                           {"num_heads", 96},
                                                           {"head_dim", 128},
                                                           {"short_conv_kernel_size", 4}}}});
  CHECK(bytes(compiled(file)) == 27'648);
  CHECK(fixed_mib(compiled(file)) == Approx(428.6).margin(0.05));
  json missing = file;
  missing["linear_attn_config"]["kda_layers"].erase(0);
  CHECK(faults(missing).size() == 1);
}

// 30 layers keep an entry for 4 tokens, with an index key of 64 B; 31 one for 128 tokens. All keep a ring of 128
// latents and their compressor's rows: 24.3 MiB.
TEST_CASE("DeepSeek-V4: compressed latents") {
  json ratios = json::array();
  for (int i = 0; i < 61; ++i) ratios.push_back(i % 2 == 0 ? 128 : 4);
  ratios.push_back(0);
  const json file = with(base("DeepseekV4ForCausalLM"), {{"num_hidden_layers", 61},
                                                         {"num_attention_heads", 128},
                                                         {"num_key_value_heads", 1},
                                                         {"head_dim", 512},
                                                         {"sliding_window", 128},
                                                         {"compress_ratios", ratios},
                                                         {"index_head_dim", 128},
                                                         {"n_routed_experts", 384},
                                                         {"n_shared_experts", 1},
                                                         {"num_experts_per_tok", 6},
                                                         {"moe_intermediate_size", 3072}});
  const ModelSpec m = compiled(file);
  CHECK(bytes(m) == 8'408);
  CHECK(fixed_mib(m) == Approx(24.3).margin(0.05));
  CHECK(m.draft_layers == 1);
  CHECK_FALSE(m.weights_known);
  json odd = file;
  odd["compress_ratios"][3] = 7;
  CHECK(faults(odd).size() == 1);
}

TEST_CASE("Nemotron-NAS: layers without attention keep nothing") {
  json blocks = json::array();
  for (int i = 0; i < 4; ++i) {
    const bool attends = i != 1;
    blocks.push_back(
        {{"attention", {{"no_op", !attends}, {"n_heads_in_group", attends ? json(i == 0 ? 4 : 8) : json()}}},
         {"ffn", {{"no_op", i == 3}, {"ffn_mult", 2.625}}}});
  }
  const ModelSpec m = compiled(with(base("DeciLMForCausalLM"), {{"num_hidden_layers", 4}, {"block_configs", blocks}}));
  CHECK(bytes(m) == (8 + 4 + 4) * 256 * 2);  // 32 heads in groups of 4, 8 and 8
  CHECK(mlp_groups(m).front().layers() == 3);
}

TEST_CASE("attention and state side by side, cross-attention, shared layers") {
  const ModelSpec h1 =
      compiled(with(base("FalconH1ForCausalLM"),
                    {{"mamba_n_heads", 64}, {"mamba_d_head", 64}, {"mamba_d_ssm", 4096}, {"mamba_d_state", 128}}));
  CHECK(bytes(h1) == 131'072);
  CHECK(fixed_bytes_per_sequence(kv_geometry(h1), KvSplit{}).count() == 32 * (4096 * 128 + 3 * (4096 + 256)) * 2);
  const ModelSpec n = compiled(
      with(base("Gemma3nForCausalLM"), {{"head_dim", 256}, {"num_kv_shared_layers", 12}, {"sliding_window", 512}}));
  CHECK(bytes(n) == 20 * 8 * 512 * 2);
  CHECK(beyond(n) == 4 * 8 * 512 * 2);
}

TEST_CASE("MiniMax-Text-01: lightning attention keeps a matrix a head") {
  json types = json::array();
  for (int i = 0; i < 32; ++i) types.push_back(i % 8 == 7 ? 1 : 0);
  const json file =
      with(base("MiniMaxText01ForCausalLM"),
           {{"head_dim", 128}, {"attn_type_list", types}, {"num_local_experts", 4}, {"num_experts_per_tok", 2}});
  CHECK(bytes(compiled(file)) == 4 * 4096);
  CHECK(fixed_bytes_per_sequence(kv_geometry(compiled(file)), KvSplit{}).count() == 28LL * 32 * 128 * 128 * 2);
  CHECK(faults(with(file, {{"sparse_attention_config", json::object()}})).size() == 1);
}

TEST_CASE("weights in fewer bits") {
  const json file = base("LlamaForCausalLM");
  const ModelSpec plain = compiled(file);
  const double matrices = static_cast<double>(parameter_count(plain)) - 2.0 * 32000 * 4096 - 65 * 4096;
  const double rest = static_cast<double>(parameter_count(plain)) - matrices;
  const auto bytes_of = [&](const json& quantization) {
    return static_cast<double>(weight_bytes(compiled(with(file, {{"quantization_config", quantization}}))).count());
  };
  CHECK(bytes_of({{"quant_method", "fp8"}}) == Approx(matrices + 2 * rest).epsilon(1e-9));
  // 4 bits, a 16-bit scale and a 4-bit zero point for 128 elements.
  CHECK(bytes_of({{"quant_method", "awq"}, {"bits", 4}, {"group_size", 128}}) ==
        Approx(matrices * (0.5 + 2.5 / 128) + 2 * rest).epsilon(1e-9));
  CHECK(bytes_of({{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}}) ==
        Approx(matrices * 0.5625 + 2 * rest).epsilon(1e-9));
  const ModelSpec kept = compiled(with(
      file, {{"quantization_config", {{"quant_method", "fp8"}, {"modules_to_not_convert", {"re:.*self_attn.*"}}}}}));
  const double attention = 32.0 * (2.0 * 4096 * 4096 + 2.0 * 4096 * 1024);
  CHECK(static_cast<double>(weight_bytes(kept).count()) == Approx(matrices + attention + 2 * rest).epsilon(1e-9));
  const ModelSpec eight =
      compiled(with(file, {{"quantization_config",
                            {{"quant_method", "compressed-tensors"},
                             {"config_groups", {{"group_0", {{"weights", {{"num_bits", 8}, {"type", "float"}}}}}}},
                             {"kv_cache_scheme", {{"num_bits", 8}, {"type", "float"}}}}}}));
  CHECK(eight.kv_dtype == ElementType::fp8);
  CHECK(faults(with(file, {{"quantization_config", {{"quant_method", "magic"}}}})).size() == 1);
  CHECK(faults(with(file, {{"quantization_config", 4}})).size() == 1);
}

// Values that are missing, of another type, zero, negative, huge; lists too long or too short; objects for numbers.
TEST_CASE("a config.json that was tampered with is a model or a list of faults, never a crash") {
  static const std::vector<json> files = catalogue();
  REQUIRE(rc::check([] {
    json file = *rc::gen::elementOf(files);
    const int edits = *rc::gen::inRange(1, 4);
    for (int i = 0; i < edits; ++i) {
      json* at = &file;
      if (file.contains("text_config") && file["text_config"].is_object() && *rc::gen::arbitrary<bool>())
        at = &file["text_config"];
      std::vector<std::string> keys;
      for (const auto& [key, value] : at->items()) keys.push_back(key);
      if (keys.empty()) continue;
      const std::string key = *rc::gen::elementOf(keys);
      static const std::vector<json> values{nullptr,
                                            0,
                                            1,
                                            2,
                                            -1,
                                            3,
                                            7,
                                            1'000'000'000,
                                            1e300,
                                            0.5,
                                            true,
                                            "",
                                            "auto",
                                            json::array(),
                                            json::object(),
                                            json::array({1, "a"}),
                                            json::array({0, 4, 128}),
                                            "full_attention",
                                            std::int64_t{1} << 62};
      const int what = *rc::gen::inRange(0, 3);
      if (what == 0) {
        at->erase(key);
      } else if (what == 1 && (*at)[key].is_array() && !(*at)[key].empty()) {
        (*at)[key].erase(0);
      } else {
        (*at)[key] = *rc::gen::elementOf(values);
      }
    }
    try {
      const ModelSpec spec = compiled(file);
      RC_ASSERT(parameter_count(spec) >= 0);
      RC_ASSERT(bytes(spec) >= 0);
      (void)kv_layout(spec, whole_model(spec), {});
    } catch (const InputError& error) {
      RC_ASSERT(!error.diagnostics().empty());
    }
  }));
}

TEST_CASE("text that was tampered with is a model or a list of faults, never a crash") {
  static const std::vector<json> files = catalogue();
  REQUIRE(rc::check([] {
    std::string text = (*rc::gen::elementOf(files)).dump(1);
    const int edits = *rc::gen::inRange(1, 6);
    for (int i = 0; i < edits && !text.empty(); ++i) {
      const std::size_t at = *rc::gen::inRange<std::size_t>(0, text.size());
      if (*rc::gen::arbitrary<bool>()) {
        text[at] = *rc::gen::arbitrary<char>();
      } else {
        text.erase(at, *rc::gen::inRange<std::size_t>(1, 20));
      }
    }
    try {
      (void)model_from_hf_json(text, "m", "config.json");
    } catch (const InputError& error) {
      RC_ASSERT(!error.diagnostics().empty());
    }
  }));
}
