// Families that put linear attention beside full attention: its past is one matrix a head, whatever the length. Gated
// delta net (Qwen3-Next, Qwen3.5), Kimi delta attention over MLA, lightning attention (MiniMax-Text-01).
#include <fmt/format.h>

#include <algorithm>

#include "sim/model/families/families.h"
#include "sim/model/families/latent.h"
#include "sim/model/families/parts.h"

namespace blockyard::model {
namespace {

std::vector<std::int32_t> every_layer(const ModelSpec& spec) { return all_layers(spec.num_hidden_layers); }

// Recurrence Hv dk dv; the convolution's past (kernel - 1)(2 Hk dk + Hv dv).
LayerGroup delta_net(HfFields& fields, const ModelSpec& spec, std::vector<std::int32_t> where) {
  const std::int64_t key_heads = fields.integer("linear_num_key_heads");
  const std::int64_t value_heads = fields.integer("linear_num_value_heads");
  const std::int64_t d_k = fields.integer("linear_key_head_dim");
  const std::int64_t d_v = fields.integer("linear_value_head_dim");
  const std::int64_t kernel = fields.integer("linear_conv_kernel_dim");
  const std::int64_t channels = 2 * key_heads * d_k + value_heads * d_v;
  LayerGroup group;
  group.kind = LayerKind::recurrent;
  group.where = std::move(where);
  group.state.heads = key_heads;
  group.state.elements = value_heads * d_k * d_v;
  group.state.conv_elements = (kernel - 1) * channels;
  group.state.type = group.state.conv_type = read_state_type(fields, spec, "mamba_ssm_dtype");
  const std::int64_t gate = value_heads * d_v;
  group.weights.split = spec.hidden_size * (channels + gate + 2 * value_heads) + channels * kernel +
                        gate * spec.hidden_size + 2 * value_heads;
  group.weights.replicated = d_v;
  add_norms(spec, group, 2);
  return group;
}

// Recurrence heads d d in 32 bits; three convolutions, of q, k and v.
LayerGroup kimi_delta(HfFields& linear, const ModelSpec& spec, std::vector<std::int32_t> where) {
  const std::int64_t heads = linear.integer("num_heads");
  const std::int64_t d = linear.integer("head_dim");
  const std::int64_t kernel = linear.integer("short_conv_kernel_size");
  const std::int64_t width = heads * d;
  LayerGroup group;
  group.kind = LayerKind::recurrent;
  group.where = std::move(where);
  group.state.heads = heads;
  group.state.elements = width * d;
  group.state.conv_elements = 3 * (kernel - 1) * width;
  group.state.type = ElementType::fp32;
  group.state.conv_type = spec.dtype;
  group.weights.split =
      4 * spec.hidden_size * width + 3 * width * kernel + 2 * d * width + spec.hidden_size * heads + heads + width;
  group.weights.replicated = 2 * spec.hidden_size * d + d;
  add_norms(spec, group, 2);
  return group;
}

}  // namespace

void compile_qwen_linear(HfFields& fields, const Architecture&, ModelSpec& spec) {
  read_sizes(fields, spec);
  AttentionShape shape = read_attention(fields, spec);
  shape.bias = shape.output_bias = fields.boolean("attention_bias", false);
  shape.qk_norm = QkNorm::per_head;
  shape.output_gate = fields.boolean("attn_output_gate", true);
  std::vector<std::vector<std::int32_t>> kinds;
  if (fields.has("layer_types")) {
    kinds = layers_by_kind(fields, spec, "layer_types", fields.texts("layer_types"),
                           {{"full_attention", 0}, {"linear_attention", 1}});
  } else {
    const std::int64_t interval = fields.integer("full_attention_interval", 4);
    const auto full = [interval](std::int64_t i) { return (i + 1) % interval == 0; };
    kinds = {layers_where(spec.num_hidden_layers, full),
             layers_where(spec.num_hidden_layers, [&](std::int64_t i) { return !full(i); })};
  }
  LayerGroup attention = attention_group(spec, shape, kinds[0]);
  add_norms(spec, attention, 2);
  add(spec.layers, attention);
  add(spec.layers, delta_net(fields, spec, kinds[1]));
  if (fields.count("num_experts", 0) > 0) {
    ExpertsShape experts;
    experts.experts = fields.integer("num_experts");
    experts.per_token = fields.integer("num_experts_per_tok");
    experts.intermediate_size = fields.integer("moe_intermediate_size");
    experts.shared_intermediate_size = fields.count("shared_expert_intermediate_size", 0);
    experts.shared_gate = experts.shared_intermediate_size > 0;
    spec.mlps = {experts_group(spec, experts, every_layer(spec))};
  } else {
    spec.mlps = {mlp_group(spec, fields.integer("intermediate_size"), true, false, every_layer(spec))};
  }
  spec.draft_layers = fields.count("mtp_num_hidden_layers", fields.count("num_nextn_predict_layers", 0));
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
}

// full_attn_layers and kda_layers count from 1.
void compile_kimi_linear(HfFields& fields, const Architecture&, ModelSpec& spec) {
  read_sizes(fields, spec);
  std::optional<HfFields> linear = fields.object("linear_attn_config");
  if (!linear) {
    if (!fields.has("linear_attn_config"))
      fields.complain("linear_attn_config", "linear_attn_config: missing, expected an object");
    return;
  }
  const std::vector<std::int64_t> full = linear->integers("full_attn_layers");
  const std::vector<std::int64_t> delta = linear->integers("kda_layers");
  const auto among = [](const std::vector<std::int64_t>& list, std::int64_t layer) {
    return std::find(list.begin(), list.end(), layer + 1) != list.end();
  };
  for (std::int64_t i = 0; i < spec.num_hidden_layers; ++i) {
    if (among(full, i) != among(delta, i)) continue;
    fields.complain("linear_attn_config", fmt::format("linear_attn_config: layer {} (of 1 to {}) has to be in one of "
                                                      "full_attn_layers and kda_layers",
                                                      i + 1, spec.num_hidden_layers));
    return;
  }
  add(spec.layers,
      latent_group(fields, spec, layers_where(spec.num_hidden_layers, [&](std::int64_t i) { return among(full, i); })));
  add(spec.layers,
      kimi_delta(*linear, spec, layers_where(spec.num_hidden_layers, [&](std::int64_t i) { return among(delta, i); })));
  ExpertsShape experts;
  experts.experts = fields.integer("num_experts");
  experts.per_token = fields.integer({"num_experts_per_token", "num_experts_per_tok"});
  experts.intermediate_size = fields.integer("moe_intermediate_size");
  experts.shared_intermediate_size = fields.count("num_shared_experts", 0) * experts.intermediate_size;
  experts.router_bias = true;
  const std::int64_t dense = fields.count("first_k_dense_replace", 0);
  const auto sparse = [dense](std::int64_t i) { return i >= dense; };
  add(spec.mlps, experts_group(spec, experts, layers_where(spec.num_hidden_layers, sparse)));
  if (dense > 0) {
    add(spec.mlps, mlp_group(spec, fields.integer("intermediate_size"), true, false,
                             layers_where(spec.num_hidden_layers, [&](std::int64_t i) { return !sparse(i); })));
  }
  spec.draft_layers = fields.count("num_nextn_predict_layers", 0);
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
}

// attn_type_list: 1 = softmax attention, 0 = lightning attention, whose past is heads d d.
void compile_minimax(HfFields& fields, const Architecture&, ModelSpec& spec) {
  if (fields.has("sparse_attention_config")) {
    fields.complain("sparse_attention_config", "sparse_attention_config: what its index keys take is missing here");
    return;
  }
  read_sizes(fields, spec);
  const AttentionShape shape = read_attention(fields, spec);
  const std::vector<std::int64_t> types = fields.integers("attn_type_list");
  if (static_cast<std::int64_t>(types.size()) != spec.num_hidden_layers) {
    fields.complain("attn_type_list", fmt::format("attn_type_list: found {} entries, expected one for each of the {} "
                                                  "layers",
                                                  types.size(), spec.num_hidden_layers));
    return;
  }
  const auto softmax = [&](std::int64_t i) { return types[static_cast<std::size_t>(i)] == 1; };
  LayerGroup group = attention_group(spec, shape, layers_where(spec.num_hidden_layers, softmax));
  add_norms(spec, group, 2);
  add(spec.layers, group);
  const std::int64_t width = shape.query_heads * shape.d_k;
  LayerGroup lightning;
  lightning.kind = LayerKind::recurrent;
  lightning.where = layers_where(spec.num_hidden_layers, [&](std::int64_t i) { return !softmax(i); });
  lightning.state.heads = shape.query_heads;
  lightning.state.elements = width * shape.d_k;
  lightning.state.type = lightning.state.conv_type = spec.dtype;
  lightning.weights.split = 5 * spec.hidden_size * width + width;
  add_norms(spec, lightning, 2);
  add(spec.layers, lightning);
  ExpertsShape experts;
  experts.experts = fields.integer("num_local_experts");
  experts.per_token = fields.integer("num_experts_per_tok");
  experts.intermediate_size = fields.integer("intermediate_size");
  spec.mlps = {experts_group(spec, experts, every_layer(spec))};
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
}

}  // namespace blockyard::model
