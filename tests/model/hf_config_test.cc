#include "sim/model/hf_config.h"

#include <catch2/catch.hpp>
#include <string>

#include "sim/model/kv_geometry.h"
#include "sim/model/weights.h"

using namespace blockyard;
using namespace blockyard::model;

namespace {

const std::string kLlama3 = R"({
  "architectures": ["LlamaForCausalLM"],
  "attention_bias": false,
  "hidden_size": 4096,
  "intermediate_size": 14336,
  "max_position_embeddings": 8192,
  "model_type": "llama",
  "num_attention_heads": 32,
  "num_hidden_layers": 32,
  "num_key_value_heads": 8,
  "tie_word_embeddings": false,
  "torch_dtype": "bfloat16",
  "vocab_size": 128256
})";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::vector<std::string> faults(const std::string& text) {
  std::vector<std::string> found;
  try {
    (void)model_from_hf_json(text, "m", "config.json");
  } catch (const InputError& error) {
    for (const Diagnostic& d : error.diagnostics()) found.push_back(to_string(d));
  }
  return found;
}

}  // namespace

TEST_CASE("config.json of the llama family") {
  const ModelSpec m = model_from_hf_json(kLlama3, "llama-3-8b", "config.json");
  CHECK(m.name == "llama-3-8b");
  CHECK(m.head_dim == 128);
  CHECK(m.dtype == ElementType::bf16);
  CHECK(parameter_count(m) == 8'030'261'248);
  CHECK(kv_bytes_per_token(kv_geometry(m), 1, m.dtype) == Bytes(131'072));
}

TEST_CASE("config.json of qwen2: biases of q, k, v always, a window that is switched off") {
  const ModelSpec m = model_from_hf_json(R"({"architectures": ["Qwen2ForCausalLM"], "hidden_size": 3584,
      "intermediate_size": 18944, "max_position_embeddings": 131072, "max_window_layers": 28, "num_attention_heads": 28,
      "num_hidden_layers": 28, "num_key_value_heads": 4, "sliding_window": 131072, "tie_word_embeddings": false,
      "torch_dtype": "bfloat16", "use_sliding_window": false, "vocab_size": 152064})",
                                         "qwen2.5-7b", "config.json");
  CHECK(parameter_count(m) == 7'615'616'512);
  CHECK(m.sliding_window == 0);
}

TEST_CASE("config.json of qwen3: an explicit head_dim and norms of q and k") {
  const ModelSpec m = model_from_hf_json(R"({"model_type": "qwen3", "attention_bias": false, "head_dim": 128,
      "hidden_size": 5120, "intermediate_size": 25600, "max_position_embeddings": 40960, "num_attention_heads": 64,
      "num_hidden_layers": 64, "num_key_value_heads": 8, "sliding_window": null, "dtype": "bfloat16",
      "use_sliding_window": false, "vocab_size": 151936})",
                                         "qwen3-32b", "config.json");
  CHECK(m.head_dim == 128);
  CHECK(parameter_count(m) == 32'762'123'264);
}

TEST_CASE("config.json of mistral and mixtral") {
  const ModelSpec mistral = model_from_hf_json(R"({"architectures": ["MistralForCausalLM"], "hidden_size": 4096,
      "intermediate_size": 14336, "max_position_embeddings": 32768, "num_attention_heads": 32, "num_hidden_layers": 32,
      "num_key_value_heads": 8, "sliding_window": 4096, "torch_dtype": "bfloat16", "vocab_size": 32000})",
                                               "mistral-7b", "config.json");
  CHECK(parameter_count(mistral) == 7'241'732'096);
  CHECK(mistral.sliding_window == 4096);
  const ModelSpec mixtral = model_from_hf_json(R"({"architectures": ["MixtralForCausalLM"], "hidden_size": 4096,
      "intermediate_size": 14336, "max_position_embeddings": 32768, "num_attention_heads": 32, "num_experts_per_tok": 2,
      "num_hidden_layers": 32, "num_key_value_heads": 8, "num_local_experts": 8, "sliding_window": null,
      "torch_dtype": "bfloat16", "vocab_size": 32000})",
                                               "mixtral-8x7b", "config.json");
  CHECK(parameter_count(mixtral) == 46'702'792'704);
  CHECK(mixtral.experts_per_token == 2);
}

TEST_CASE("config.json of opt: ffn_dim, tied embeddings and learned positions") {
  const ModelSpec m = model_from_hf_json(R"({"architectures": ["OPTForCausalLM"], "ffn_dim": 20480, "hidden_size": 5120,
      "max_position_embeddings": 2048, "num_attention_heads": 40, "num_hidden_layers": 40, "torch_dtype": "float16",
      "vocab_size": 50272, "word_embed_proj_dim": 5120})",
                                         "opt-13b", "config.json");
  CHECK(m.num_key_value_heads == 40);  // absent: as many as heads
  CHECK(m.learned_position_embeddings == 2050);
  CHECK(static_cast<double>(parameter_count(m)) == Approx(12.85e9).epsilon(0.001));
}

TEST_CASE("faults of a config.json are all found, each with its place") {
  CHECK(faults(kLlama3).empty());
  CHECK(faults(with(kLlama3, "\"hidden_size\": 4096,", "")) ==
        std::vector<std::string>{"config.json: hidden_size: missing, expected an integer"});
  const std::vector<std::string> two =
      faults(with(with(kLlama3, "\"num_attention_heads\": 32", "\"num_attention_heads\": 0"), "\"vocab_size\": 128256",
                  "\"vocab_size\": \"many\""));
  REQUIRE(two.size() == 2);
  CHECK(two[0] == "config.json:8:3: num_attention_heads: found 0, expected an integer from 1 to 100000");
  CHECK(two[1] == "config.json:13:3: vocab_size: found \"many\", expected an integer from 1 to 100000000");
  CHECK(faults(with(kLlama3, "\"num_key_value_heads\": 8", "\"num_key_value_heads\": 5")).size() == 1);
  CHECK(faults(with(kLlama3, "\"num_attention_heads\": 32", "\"num_attention_heads\": 24")).size() == 1);
  CHECK(faults(with(kLlama3, "14336", "1e300")).size() == 1);
  CHECK(faults(with(kLlama3, "14336", "999999999")).size() == 1);
  CHECK(faults(with(kLlama3, "\"bfloat16\"", "\"complex64\"")).size() == 1);
  CHECK(faults(with(kLlama3, "\"attention_bias\": false", "\"attention_bias\": 1")).size() == 1);
  CHECK(faults(with(kLlama3, "\"attention_bias\": false", "\"quantization_config\": {\"quant_method\": \"magic\"}"))
            .size() == 1);
}

TEST_CASE("an architecture that is not known is not guessed") {
  const std::vector<std::string> found = faults(with(kLlama3, "LlamaForCausalLM", "LlamaForCausalLn"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].rfind("config.json:2:3: architectures: \"LlamaForCausalLn\" is not known: which of its layers keep "
                       "what is missing here",
                       0) == 0);
  CHECK(found[0].find("did you mean \"LlamaForCausalLM\"?") != std::string::npos);
  CHECK(faults("{}").size() == 1);
  CHECK(faults(R"({"architectures": []})").size() == 1);
  CHECK(faults(R"({"model_type": 7})").size() == 1);
}

TEST_CASE("what is not a JSON object is said with its place") {
  REQUIRE(faults("{\n  \"a\": 1,\n  oops\n}").size() == 1);
  CHECK(faults("{\n  \"a\": 1,\n  oops\n}").front().rfind("config.json:3:", 0) == 0);
  CHECK(faults("").size() == 1);
  CHECK(faults("[1, 2]").front().find("found an array") != std::string::npos);
  CHECK(faults("12").size() == 1);
}
