#include "sim/model/families/latent.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/model/families/families.h"

namespace blockyard::model {
namespace {

// An indexer's key: one fp8 element a dimension, one 32-bit scale for 128.
std::int64_t index_key_bytes(std::int64_t head_dim) { return head_dim + 4 * ((head_dim + 127) / 128); }

}  // namespace

LayerGroup latent_group(HfFields& fields, const ModelSpec& spec, std::vector<std::int32_t> where) {
  const std::int64_t hidden = spec.hidden_size;
  const std::int64_t heads = fields.integer("num_attention_heads");
  const std::int64_t q_rank = fields.count("q_lora_rank", 0);  // null: a full projection
  const std::int64_t kv_rank = fields.integer("kv_lora_rank");
  const std::int64_t nope = fields.integer("qk_nope_head_dim");
  const std::int64_t rope = fields.integer("qk_rope_head_dim");
  const std::int64_t value = fields.integer("v_head_dim");
  LayerGroup group;
  group.where = std::move(where);
  group.latent = true;
  group.query_heads = heads;
  group.kv_heads = 1;
  group.d_k = kv_rank + rope;
  group.head_k = nope + rope;
  group.head_v = value;
  const std::int64_t q = heads * (nope + rope);
  group.weights.split = (q_rank > 0 ? q_rank : hidden) * q + kv_rank * heads * (nope + value) + heads * value * hidden;
  group.weights.replicated = hidden * (kv_rank + rope) + kv_rank + (q_rank > 0 ? hidden * q_rank + q_rank : 0);
  if (fields.has("index_head_dim")) {
    const std::int64_t index = fields.integer("index_head_dim");
    const std::int64_t index_heads = fields.integer("index_n_heads");
    group.index_bytes = index_key_bytes(index);
    group.weights.replicated +=
        (q_rank > 0 ? q_rank : hidden) * index_heads * index + hidden * (index + index_heads) + 2 * index;
  }
  add_norms(spec, group, 2);
  return group;
}

// DeepSeek-V2 and V3, Kimi-K2, GLM-5, MiniCPM3.
void compile_latent(HfFields& fields, const Architecture&, ModelSpec& spec) {
  read_sizes(fields, spec);
  const std::int64_t layers = spec.num_hidden_layers;
  spec.layers = {latent_group(fields, spec, all_layers(layers))};
  if (!fields.has("n_routed_experts")) {
    spec.mlps = {mlp_group(spec, fields.integer("intermediate_size"), true, false, all_layers(layers))};
  } else {
    ExpertsShape experts;
    experts.experts = fields.integer("n_routed_experts");
    experts.per_token = fields.integer("num_experts_per_tok");
    experts.intermediate_size = fields.integer("moe_intermediate_size");
    experts.shared_intermediate_size = fields.count("n_shared_experts", 0) * experts.intermediate_size;
    experts.router_bias = fields.text("topk_method").value_or("") == "noaux_tc";
    const std::int64_t dense = fields.count("first_k_dense_replace", 0);
    const std::int64_t step = fields.integer("moe_layer_freq", 1);
    const auto sparse = [=](std::int64_t i) { return i >= dense && i % step == 0; };
    add(spec.mlps, experts_group(spec, experts, layers_where(layers, sparse)));
    const std::vector<std::int32_t> rest = layers_where(layers, [&](std::int64_t i) { return !sparse(i); });
    if (!rest.empty()) spec.mlps.push_back(mlp_group(spec, fields.integer("intermediate_size"), true, false, rest));
  }
  spec.draft_layers = fields.count("num_nextn_predict_layers", 0);
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
}

// DeepSeek-V4: one latent for keys and values; each layer keeps one entry for compress_ratios[i] tokens (0: none), a
// ring of the last sliding_window tokens, and the compressor's 32-bit buffers: of a ratio of 4, eight rows of value and
// score halves for the latent and for the indexer's 4-bit key; of another, that many rows of both.
void compile_compressed(HfFields& fields, const Architecture&, ModelSpec& spec) {
  read_sizes(fields, spec);
  const std::int64_t heads = fields.integer("num_attention_heads");
  const std::int64_t width = fields.integer("head_dim");
  const std::int64_t window = fields.integer("sliding_window");
  const std::int64_t index = fields.integer("index_head_dim");
  std::vector<std::int64_t> ratios = fields.integers("compress_ratios");
  if (fields.integer("num_key_value_heads", 1) != 1) {
    fields.complain("num_key_value_heads", "num_key_value_heads: more than one latent a layer is missing here");
  }
  if (static_cast<std::int64_t>(ratios.size()) < spec.num_hidden_layers) {
    fields.complain("compress_ratios", fmt::format("compress_ratios: found {} entries, expected one for each of the {} "
                                                   "layers",
                                                   ratios.size(), spec.num_hidden_layers));
    return;
  }
  spec.draft_layers = static_cast<std::int64_t>(ratios.size()) - spec.num_hidden_layers;
  for (const std::int64_t ratio : {0, 4, 128}) {
    LayerGroup group;
    group.where = layers_where(spec.num_hidden_layers,
                               [&](std::int64_t i) { return ratios[static_cast<std::size_t>(i)] == ratio; });
    group.latent = true;
    group.query_heads = heads;
    group.kv_heads = 1;
    group.d_k = ratio == 0 ? 0 : width;
    group.stride = std::max<std::int64_t>(1, ratio);
    group.state.type = ElementType::fp32;
    group.state.conv_type = ElementType::bf16;
    group.state.conv_elements = window * width;
    if (ratio == 4) {
      group.index_bytes = index / 2;
      group.state.elements = 2 * ratio * 2 * (width + index);
    } else {
      group.state.elements = ratio * 2 * width;
    }
    add(spec.layers, group);
  }
  for (std::int64_t i = 0; i < spec.num_hidden_layers; ++i) {
    const std::int64_t ratio = ratios[static_cast<std::size_t>(i)];
    if (ratio == 0 || ratio == 4 || ratio == 128) continue;
    fields.complain("compress_ratios", fmt::format("compress_ratios: {} of layer {} is not known: what its compressor "
                                                   "keeps is missing here; expected 0, 4 or 128",
                                                   ratio, i));
    return;
  }
  ExpertsShape experts;
  experts.experts = fields.integer("n_routed_experts");
  experts.per_token = fields.integer("num_experts_per_tok");
  experts.intermediate_size = fields.integer("moe_intermediate_size");
  experts.shared_intermediate_size = fields.count("n_shared_experts", 0) * experts.intermediate_size;
  spec.mlps = {experts_group(spec, experts, all_layers(spec.num_hidden_layers))};
  spec.weights_known = false;
  spec.not_counted.emplace_back("weights of the compressed attention");
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
}

}  // namespace blockyard::model
