// Families with routed experts and uniform grouped-head attention. They differ in names, in which layers are dense, and
// in what every token visits beside its experts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/model/families/families.h"
#include "sim/model/families/parts.h"

namespace blockyard::model {
namespace {

struct Traits {
  std::string_view type;
  QkNorm qk_norm = QkNorm::none;
  const char* qk_norm_field = "";  // where a field switches it on
  bool bias = false;               // what an absent bias field means
  const char* bias_field = "attention_bias";
  bool output_bias = false;  // the same field goes for o
  bool router_bias = false;
  bool shared_gate = false;
};

constexpr std::array kTraits{
    Traits{"qwen2_moe", QkNorm::none, "", true, "qkv_bias", false, false, true},
    Traits{"qwen3_moe", QkNorm::per_head, "", false, "attention_bias", true},
    Traits{"olmoe", QkNorm::whole, "", false, "attention_bias", true},
    Traits{"phimoe", QkNorm::none, "", false, "attention_bias", true},
    Traits{"glm4_moe", QkNorm::per_head, "use_qk_norm", false, "attention_bias", false, true},
    Traits{"minimax_m2", QkNorm::whole, "use_qk_norm", false, "attention_bias", false, true},
    Traits{"ernie4_5_moe", QkNorm::none, "", false, "use_bias", true, true},
};

Traits traits_of(std::string_view type) {
  for (const Traits& traits : kTraits) {
    if (traits.type == type) return traits;
  }
  return {type};
}

// Whether a layer has experts rather than an MLP.
std::function<bool(std::int64_t)> sparse_layers(HfFields& fields, std::int64_t layers) {
  const std::int64_t dense_first = fields.count("first_k_dense_replace", fields.count("moe_layer_start_index", 0));
  const std::int64_t step = fields.integer({"decoder_sparse_step", "moe_layer_interval"}, 1);
  const std::int64_t last = fields.count("moe_layer_end_index", layers - 1);
  const std::vector<std::int64_t> dense = fields.integers("mlp_only_layers");
  return [=](std::int64_t i) {
    const bool named = std::find(dense.begin(), dense.end(), i) != dense.end();
    return i >= dense_first && i <= last && (i + 1) % step == 0 && !named;
  };
}

// Dbrx keeps its numbers in objects of their own.
void compile_dbrx(HfFields& fields, ModelSpec& spec) {
  read_sizes(fields, spec);
  AttentionShape shape = read_attention(fields, spec);
  std::optional<HfFields> attention = fields.object("attn_config");
  std::optional<HfFields> mlp = fields.object("ffn_config");
  if (!attention || !mlp) {
    fields.complain("ffn_config", "attn_config, ffn_config: missing, expected an object");
    return;
  }
  shape.kv_heads = attention->integer("kv_n_heads");
  ExpertsShape experts;
  experts.experts = mlp->integer("moe_num_experts");
  experts.per_token = mlp->integer("moe_top_k");
  experts.intermediate_size = mlp->integer("ffn_hidden_size");
  LayerGroup layer = attention_group(spec, shape, all_layers(spec.num_hidden_layers));
  add_norms(spec, layer, 2);
  spec.layers = {layer};
  spec.mlps = {experts_group(spec, experts, all_layers(spec.num_hidden_layers))};
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
}

}  // namespace

void compile_experts(HfFields& fields, const Architecture& self, ModelSpec& spec) {
  const std::string_view type = self.model_type;
  if (type == "dbrx") {
    compile_dbrx(fields, spec);
    return;
  }
  const Traits traits = traits_of(type);
  read_sizes(fields, spec);
  spec.norm_bias = type == "phimoe";
  AttentionShape shape = read_attention(fields, spec);
  shape.bias = fields.boolean(traits.bias_field, traits.bias);
  shape.output_bias = traits.output_bias && shape.bias;
  const bool norms_qk = *traits.qk_norm_field == '\0' || fields.boolean(traits.qk_norm_field, false);
  shape.qk_norm = norms_qk ? traits.qk_norm : QkNorm::none;
  LayerGroup layer = attention_group(spec, shape, all_layers(spec.num_hidden_layers));
  add_norms(spec, layer, type == "grok-1" ? 4 : 2);
  const bool window_is_on = !fields.has("use_sliding_window") || fields.boolean("use_sliding_window", false);
  const std::int64_t window = window_is_on ? fields.integer("sliding_window", 0) : 0;
  const std::int64_t full_layers = type.starts_with("qwen") ? fields.count("max_window_layers", 0) : 0;
  const auto slides = [&](std::int64_t i) { return window > 0 && i >= full_layers; };
  add_attention_layers(fields, spec, layer, window, slides);
  spec.sliding_window = window;

  ExpertsShape experts;
  experts.experts = fields.integer({"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"});
  experts.per_token = fields.integer({"num_experts_per_tok", "moe_k", "moe_top_k"});
  experts.intermediate_size = fields.integer({"moe_intermediate_size", "intermediate_size"});
  const std::int64_t shared = fields.count("n_shared_experts", fields.count("moe_num_shared_experts", 0));
  experts.shared_intermediate_size = fields.count(
      "shared_expert_intermediate_size", fields.count("shared_intermediate_size", shared * experts.intermediate_size));
  experts.router_bias = traits.router_bias;
  experts.shared_gate = traits.shared_gate;
  const auto sparse = sparse_layers(fields, spec.num_hidden_layers);
  add(spec.mlps, experts_group(spec, experts, layers_where(spec.num_hidden_layers, sparse)));
  const std::vector<std::int32_t> dense =
      layers_where(spec.num_hidden_layers, [&](std::int64_t i) { return !sparse(i); });
  if (!dense.empty()) spec.mlps.push_back(mlp_group(spec, fields.integer("intermediate_size"), true, false, dense));
  spec.draft_layers = fields.count("num_nextn_predict_layers", 0);
  if (type == "minimax_m2" && fields.boolean("use_mtp", false)) spec.draft_layers = fields.count("num_mtp_modules", 0);
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", type == "ernie4_5_moe");
}

}  // namespace blockyard::model
