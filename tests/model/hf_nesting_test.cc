// What a config.json leaves to its reader: whose architecture counts in a multimodal file, what absent fields mean,
// which layers a list of layer types names, and where in the text a fault stands.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/model/hf_config.h"
#include "sim/model/kv_geometry.h"
#include "sim/model/weights.h"

using namespace blockyard;
using namespace blockyard::model;
using nlohmann::ordered_json;

namespace {

ModelSpec compiled(const ordered_json& config) { return model_from_hf_json(config.dump(1), "m", "config.json"); }

std::vector<std::string> faults(const ordered_json& config) {
  std::vector<std::string> found;
  try {
    (void)compiled(config);
  } catch (const InputError& error) {
    for (const Diagnostic& d : error.diagnostics()) found.push_back(to_string(d));
  }
  return found;
}

std::int64_t bytes(const ModelSpec& spec) { return kv_bytes_per_token(kv_geometry(spec), KvSplit{}).count(); }
std::int64_t beyond(const ModelSpec& spec) {
  return kv_bytes_per_token_beyond_windows(kv_geometry(spec), KvSplit{}).count();
}

ordered_json with(ordered_json config, const ordered_json& more) {
  config.update(more);
  return config;
}
ordered_json without(ordered_json config, const char* key) {
  config.erase(key);
  return config;
}

// A layer keeps 8 x 256 x 2 B = 4,096 B a token.
ordered_json language() {
  return {{"model_type", "llama"},     {"hidden_size", 4096}, {"intermediate_size", 11008},
          {"num_hidden_layers", 32},   {"head_dim", 128},     {"num_attention_heads", 32},
          {"num_key_value_heads", 8},  {"vocab_size", 32000}, {"max_position_embeddings", 32768},
          {"torch_dtype", "bfloat16"}, {"rms_norm_eps", 1e-5}};
}
ordered_json flat(const char* architecture) { return with(language(), {{"architectures", {architecture}}}); }
ordered_json wrapped(const char* architecture, const char* key, const ordered_json& inner) {
  return {{"architectures", {architecture}},
          {"vision_config", {{"hidden_size", 1152}, {"num_hidden_layers", 27}, {"num_attention_heads", 16}}},
          {key, inner}};
}

}  // namespace

TEST_CASE("a multimodal file is read as the language model that it names") {
  const ordered_json qwen = with(
      language(),
      {{"model_type", "qwen2"}, {"use_sliding_window", false}, {"sliding_window", 4096}, {"max_window_layers", 28}});
  // Qwen2's window is off, Llama's would be on; Qwen2 has biases of q, k and v.
  for (const char* key : {"text_config", "language_config", "llm_config"}) {
    const ModelSpec m = compiled(wrapped("LlavaForConditionalGeneration", key, qwen));
    CHECK(bytes(m) == 32 * 4096);
    CHECK(beyond(m) == 32 * 4096);
    CHECK(m.attention_bias);
    CHECK(m.not_counted == std::vector<std::string>{"weights of vision_config"});
  }
  // The whole's architecture need not be known.
  const ModelSpec other =
      compiled(wrapped("InternVLChatModel", "llm_config",
                       with(without(qwen, "model_type"), ordered_json{{"architectures", {"Qwen2ForCausalLM"}}})));
  CHECK(beyond(other) == 32 * 4096);
  // Neither known: nothing is guessed.
  const std::vector<std::string> found =
      faults(wrapped("SomeVisionModel", "text_config", with(language(), {{"model_type", "some_text"}})));
  REQUIRE(found.size() == 1);
  CHECK(found[0].find("\"SomeVisionModel\" is not known") != std::string::npos);
}

TEST_CASE("nested Mistral leaves out what its class defines") {
  const ModelSpec m = compiled(wrapped("LlavaForConditionalGeneration", "text_config",
                                       {{"model_type", "mistral"},
                                        {"hidden_size", 5120},
                                        {"head_dim", 128},
                                        {"num_hidden_layers", 40},
                                        {"sliding_window", nullptr},
                                        {"vocab_size", 131072}}));
  CHECK(bytes(m) == 40 * 4096);
  CHECK(beyond(m) == 40 * 4096);
  CHECK(m.intermediate_size == 14336);
}

TEST_CASE("a fault of a nested object is shown where it stands") {
  const std::vector<std::string> found =
      faults(wrapped("LlavaForConditionalGeneration", "text_config", with(language(), {{"num_attention_heads", 0}})));
  REQUIRE(found.size() == 1);
  // The vision tower's field of the same name is on line 8.
  CHECK(found[0] == "config.json:16:3: num_attention_heads: found 0, expected an integer from 1 to 100000");
  const std::vector<std::string> missing =
      faults(wrapped("LlavaForConditionalGeneration", "text_config",
                     with(without(language(), "num_attention_heads"), {{"model_type", "qwen2"}})));
  REQUIRE(missing.size() == 1);
  CHECK(missing[0] == "config.json:10:17: num_attention_heads: missing, expected an integer");
}

TEST_CASE("weights of 32 bits, or of no stated type, are kept in 16") {
  const double half = static_cast<double>(weight_bytes(compiled(flat("LlamaForCausalLM"))).count());
  const auto bytes_of = [](const ordered_json& config) {
    return static_cast<double>(weight_bytes(compiled(config)).count());
  };
  CHECK(bytes_of(without(flat("LlamaForCausalLM"), "torch_dtype")) == half);
  CHECK(bytes_of(with(flat("LlamaForCausalLM"), {{"torch_dtype", "float32"}})) == half);
  CHECK(bytes_of(with(flat("LlamaForCausalLM"), {{"torch_dtype", nullptr}})) == half);
  CHECK(element_type("float32") == ElementType::fp32);
}

TEST_CASE("rotary positions are stretched where the file does not say so already") {
  const auto positions = [](const ordered_json& rope) {
    return compiled(with(flat("Qwen3ForCausalLM"), {{"rope_scaling", rope}})).max_position_embeddings;
  };
  CHECK(positions({{"rope_type", "linear"}, {"factor", 2.0}}) == 65536);
  CHECK(positions({{"type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 8192}}) == 32768);
  CHECK(positions({{"rope_type", "llama3"}, {"factor", 8.0}, {"original_max_position_embeddings", 8192}}) == 32768);
  CHECK(positions({{"type", "mrope"}, {"mrope_section", {16, 24, 24}}}) == 32768);
  CHECK(positions(nullptr) == 32768);
}

TEST_CASE("layer_types name the windowed layers of any family") {
  ordered_json types = ordered_json::array();
  for (int i = 0; i < 32; ++i) types.push_back(i % 4 == 3 ? "full_attention" : "sliding_attention");
  const ordered_json experts{{"num_experts", 8}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 1024}};
  const ordered_json window{{"layer_types", types}, {"sliding_window", 4096}};
  CHECK(beyond(compiled(with(flat("MistralForCausalLM"), window))) == 8 * 4096);
  CHECK(beyond(compiled(with(with(flat("Qwen3MoeForCausalLM"), window), experts))) == 8 * 4096);
  // Switched off: all layers see everything.
  const ordered_json off = with(window, {{"use_sliding_window", false}});
  CHECK(beyond(compiled(with(flat("Qwen3ForCausalLM"), off))) == 32 * 4096);
  // A window of no stated length, a kind that is not known: not ignored.
  CHECK(faults(with(flat("MistralForCausalLM"), {{"layer_types", types}})).size() == 1);
  types[5] = "linear_attention";
  CHECK(faults(with(flat("LlamaForCausalLM"), {{"layer_types", types}})).size() == 1);
  CHECK(faults(with(with(flat("Qwen3MoeForCausalLM"), {{"layer_types", types}}), experts)).size() == 1);
}

TEST_CASE("chunks and windows without a list alternate as their architecture does") {
  ordered_json types = ordered_json::array();
  for (int i = 0; i < 32; ++i) types.push_back(i % 8 == 7 ? "full_attention" : "chunked_attention");
  const ordered_json experts{{"num_local_experts", 8}, {"num_experts_per_tok", 2}};
  const ordered_json llama4 =
      with(with(flat("Llama4ForCausalLM"), {{"layer_types", types}, {"attention_chunk_size", 8192}}), experts);
  CHECK(beyond(compiled(llama4)) == 4 * 4096);
  const ordered_json oss = with(with(flat("GptOssForCausalLM"), {{"sliding_window", 128}}), experts);
  CHECK(beyond(compiled(oss)) == 16 * 4096);
}

TEST_CASE("the KV format that a checkpoint asks for") {
  const auto asked = [](const ordered_json& quantization) {
    return compiled(with(flat("LlamaForCausalLM"), {{"quantization_config", quantization}})).kv_dtype;
  };
  const ordered_json eight{{"num_bits", 8}, {"type", "float"}, {"dynamic", false}};
  CHECK(asked({{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}, {"kv_cache_scheme", eight}}) == ElementType::fp8);
  CHECK(asked({{"quant_method", "modelopt"}, {"quant_algo", "FP8"}, {"kv_cache_quant_algo", "NVFP4"}}) ==
        ElementType::nvfp4);
  CHECK(asked({{"quantization", {{"quant_algo", "FP8"}, {"kv_cache_quant_algo", "FP8"}}}}) == ElementType::fp8);
  CHECK(asked({{"quant_method", "modelopt"}, {"quant_algo", "FP8"}}) == std::nullopt);
  CHECK(asked({{"quant_method", "fp8"}}) == std::nullopt);
}

TEST_CASE("hf_quant_config.json says what the config.json beside it does not") {
  ModelSpec m = compiled(flat("LlamaForCausalLM"));
  const std::string text = R"({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8",
    "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}})";
  add_hf_quant_config(text, "hf_quant_config.json", m);
  CHECK(m.kv_dtype == ElementType::fp8);
  REQUIRE(m.quantization.has_value());
  CHECK(m.quantization->bytes_per_weight == 1);
  ModelSpec kv_only = compiled(flat("LlamaForCausalLM"));
  add_hf_quant_config(R"({"quantization": {"quant_algo": null, "kv_cache_quant_algo": "FP8"}})", "q", kv_only);
  CHECK(kv_only.kv_dtype == ElementType::fp8);
  CHECK_FALSE(kv_only.quantization.has_value());
  ModelSpec own = compiled(with(flat("LlamaForCausalLM"), {{"quantization_config", {{"quant_method", "awq"}}}}));
  add_hf_quant_config(text, "hf_quant_config.json", own);
  CHECK(own.quantization->method == "awq");
  CHECK_THROWS_AS(add_hf_quant_config(R"({"quantization": {"quant_algo": "W1A1"}})", "q", kv_only), InputError);
  CHECK_THROWS_AS(add_hf_quant_config("{", "q", kv_only), InputError);
}

TEST_CASE("compressed-tensors: groups of any name; of different bits they are not guessed") {
  const auto weights = [](int bits, const char* type, const ordered_json& group) {
    return ordered_json{{"weights", {{"num_bits", bits}, {"type", type}, {"group_size", group}}}};
  };
  const auto read = [](const ordered_json& groups) {
    return with(flat("LlamaForCausalLM"),
                {{"quantization_config", {{"quant_method", "compressed-tensors"}, {"config_groups", groups}}}});
  };
  const auto each = [&](const ordered_json& groups) { return compiled(read(groups)).quantization->bytes_per_weight; };
  CHECK(each({{"NVFP4", weights(4, "float", 16)}}) == 0.5625);
  CHECK(each({{"group_0", weights(4, "float", 32)}}) == 0.53125);
  CHECK(each({{"group_0", weights(8, "float", nullptr)}}) == 1);
  CHECK(each({{"a", weights(4, "int", 128)}, {"b", weights(4, "int", 128)}}) == Approx(0.5 + 2.5 / 128));
  const std::vector<std::string> mixed =
      faults(read({{"a", weights(8, "float", nullptr)}, {"b", weights(4, "float", 16)}}));
  REQUIRE(mixed.size() == 1);
  CHECK(mixed[0].find("different bits") != std::string::npos);
  CHECK(faults(read(ordered_json::object())).size() == 1);
}

TEST_CASE("Command-R serves model_max_length; Zamba2 may name its hybrid layers by number") {
  const ordered_json cohere = with(flat("CohereForCausalLM"), {{"model_max_length", 131072}});
  CHECK(compiled(cohere).max_position_embeddings == 131072);
  const ordered_json zamba =
      with(flat("Zamba2ForCausalLM"),
           {{"hybrid_layer_ids", {6, 12}}, {"attention_head_dim", 128}, {"n_mamba_heads", 64}, {"mamba_d_state", 64}});
  CHECK(bytes(compiled(zamba)) == 2 * 4096);
  CHECK(faults(with(zamba, {{"hybrid_layer_ids", {6, 40}}})).size() == 1);
}
