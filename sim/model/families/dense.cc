// Families in the manner of Llama: gated MLP, RMSNorm, rotary positions; grouped heads; one window or none.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/model/families/families.h"
#include "sim/model/families/parts.h"

namespace blockyard::model {
namespace {

struct Traits {
  std::string_view architecture;
  QkNorm qk_norm = QkNorm::none;
  std::int64_t norms = 2;
  const char* bias_field = "attention_bias";  // of q, k and v
  const char* output_bias_field = "attention_bias";
  bool norm_bias = false;
  bool tied = false;  // what an absent tie_word_embeddings means
};

constexpr std::array kTraits{
    Traits{"Olmo2ForCausalLM", QkNorm::whole},
    Traits{"Olmo3ForCausalLM", QkNorm::whole},
    Traits{"HunYuanDenseV1ForCausalLM", QkNorm::per_head, 2, "attention_bias", "attention_bias", false, true},
    Traits{"SmolLM3ForCausalLM", QkNorm::none, 2, "attention_bias", "attention_bias", false, true},
    Traits{"MiniCPMForCausalLM", QkNorm::none, 2, "attention_bias", "attention_bias", false, true},
    Traits{"SeedOssForCausalLM", QkNorm::none, 2, "attention_bias", "attention_out_bias"},
    Traits{"Ernie4_5ForCausalLM", QkNorm::none, 2, "use_bias", "use_bias", false, true},
    Traits{"InternLM2ForCausalLM", QkNorm::none, 2, "bias", "bias"},
    Traits{"StableLmForCausalLM", QkNorm::none, 2, "use_qkv_bias", "", true},
    Traits{"GlmForCausalLM", QkNorm::none, 2, "attention_bias", ""},
    Traits{"Glm4ForCausalLM", QkNorm::none, 4, "attention_bias", ""},
};

Traits traits_of(std::string_view architecture) {
  for (const Traits& traits : kTraits) {
    if (traits.architecture == architecture) return traits;
  }
  return {architecture};
}

}  // namespace

void compile_llama(HfFields& fields, const Architecture& self, ModelSpec& spec) {
  const Traits traits = traits_of(self.name);
  read_sizes(fields, spec);
  spec.norm_bias = traits.norm_bias;
  AttentionShape shape = read_attention(fields, spec);
  shape.bias = fields.boolean(traits.bias_field, false);
  shape.output_bias = *traits.output_bias_field != '\0' && fields.boolean(traits.output_bias_field, false);
  shape.qk_norm = traits.qk_norm;
  const bool mlp_bias = fields.boolean("mlp_bias", false);
  spec.mlps = {
      mlp_group(spec, fields.integer("intermediate_size"), true, mlp_bias, all_layers(spec.num_hidden_layers))};
  LayerGroup layer = attention_group(spec, shape, {});
  add_norms(spec, layer, traits.norms);
  const std::int64_t window = fields.integer("sliding_window", 0);
  spec.sliding_window = window;
  add_attention_layers(fields, spec, layer, window, [window](std::int64_t) { return window > 0; });
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", traits.tied);
  spec.attention_bias = shape.bias;
  spec.attention_output_bias = shape.output_bias;
  spec.mlp_bias = mlp_bias;
}

// Qwen2 has biases of q, k and v; Qwen3 norms q and k instead. A window counts where use_sliding_window says so, for
// layers from max_window_layers on.
void compile_qwen(HfFields& fields, const Architecture& self, ModelSpec& spec) {
  const bool third = std::string_view(self.model_type).starts_with("qwen3");
  read_sizes(fields, spec);
  AttentionShape shape = read_attention(fields, spec);
  shape.bias = third ? fields.boolean("attention_bias", false) : true;
  shape.output_bias = third && shape.bias;
  shape.qk_norm = third ? QkNorm::per_head : QkNorm::none;
  spec.mlps = {mlp_group(spec, fields.integer("intermediate_size"), true, false, all_layers(spec.num_hidden_layers))};
  LayerGroup layer = attention_group(spec, shape, {});
  add_norms(spec, layer, 2);
  const std::int64_t window = fields.boolean("use_sliding_window", false) ? fields.integer("sliding_window", 0) : 0;
  const std::int64_t full_layers = fields.count("max_window_layers", 0);
  add_attention_layers(fields, spec, layer, window, [=](std::int64_t i) { return window > 0 && i >= full_layers; });
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
  spec.attention_bias = shape.bias;
  spec.qk_norm = third;
}

}  // namespace blockyard::model
