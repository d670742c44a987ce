// Families whose layers look back differently far: windows and chunks between global layers, cross-attention to images,
// keys wider than values.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>

#include "sim/model/families/families.h"
#include "sim/model/families/parts.h"

namespace blockyard::model {
namespace {

std::vector<std::int32_t> every_layer(const ModelSpec& spec) { return all_layers(spec.num_hidden_layers); }

bool among(const std::vector<std::int64_t>& list, std::int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Layers with experts, then those without.
void add_mlps(ModelSpec& spec, const ExpertsShape& experts, std::int64_t dense_intermediate,
              const std::function<bool(std::int64_t)>& has_experts) {
  add(spec.mlps, experts_group(spec, experts, layers_where(spec.num_hidden_layers, has_experts)));
  add(spec.mlps, mlp_group(spec, dense_intermediate, true, false,
                           layers_where(spec.num_hidden_layers, [&](std::int64_t i) { return !has_experts(i); })));
}

}  // namespace

// Command-R: one norm for attention and MLP, which stand side by side. Cohere2 has full attention every fourth layer.
// What engines serve is model_max_length, where it is there.
void compile_cohere(HfFields& fields, const Architecture& self, ModelSpec& spec) {
  read_sizes(fields, spec);
  spec.max_position_embeddings = fields.integer("model_max_length", spec.max_position_embeddings);
  AttentionShape shape = read_attention(fields, spec);
  shape.bias = shape.output_bias = fields.boolean("attention_bias", false);
  LayerGroup layer = attention_group(spec, shape, every_layer(spec));
  add_norms(spec, layer, 1);
  if (fields.boolean("use_qk_norm", false)) {
    layer.weights.replicated += (shape.query_heads + shape.kv_heads) * shape.d_k;
  }
  if (std::string_view(self.model_type) == "cohere2") {
    const std::int64_t window = fields.integer("sliding_window");
    const std::int64_t pattern = fields.integer("sliding_window_pattern", 4);
    std::vector<std::vector<std::int32_t>> kinds;
    if (fields.has("layer_types")) {
      kinds = layers_by_kind(fields, spec, "layer_types", fields.texts("layer_types"),
                             {{"full_attention", 0}, {"sliding_attention", 1}});
    } else {
      const auto full = [pattern](std::int64_t i) { return (i + 1) % pattern == 0; };
      kinds = {layers_where(spec.num_hidden_layers, full),
               layers_where(spec.num_hidden_layers, [&](std::int64_t i) { return !full(i); })};
    }
    layer.where = kinds[0];
    add(spec.layers, layer);
    layer.where = kinds[1];
    add(spec.layers, windowed(layer, LayerKind::sliding_window, window));
  } else {
    spec.layers = {layer};
  }
  spec.mlps = {mlp_group(spec, fields.integer("intermediate_size"), true, false, every_layer(spec))};
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", true);
}

void compile_gpt_oss(HfFields& fields, const Architecture&, ModelSpec& spec) {
  read_sizes(fields, spec);
  AttentionShape shape = read_attention(fields, spec);
  shape.bias = shape.output_bias = fields.boolean("attention_bias", true);
  LayerGroup layer = attention_group(spec, shape, {});
  layer.weights.split += shape.query_heads;  // attention sinks
  add_norms(spec, layer, 2);
  add_attention_layers(fields, spec, layer, fields.integer("sliding_window"),
                       [](std::int64_t i) { return i % 2 == 0; });
  ExpertsShape experts;
  experts.experts = fields.integer("num_local_experts");
  experts.per_token = fields.integer({"num_experts_per_tok", "experts_per_token"});
  experts.intermediate_size = fields.integer("intermediate_size");
  experts.bias = experts.router_bias = true;
  spec.mlps = {experts_group(spec, experts, every_layer(spec))};
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
}

// Layers with rotary positions look back to the start of their chunk; those without see everything. no_rope_layers says
// which (1: rotary), else layer_types, else every fourth layer sees everything.
void compile_llama4(HfFields& fields, const Architecture&, ModelSpec& spec) {
  read_sizes(fields, spec);
  AttentionShape shape = read_attention(fields, spec);
  shape.bias = shape.output_bias = fields.boolean("attention_bias", false);
  const std::vector<std::int64_t> rotary = fields.integers("no_rope_layers");
  const std::int64_t interval = fields.integer("no_rope_layer_interval", 4);
  if (!rotary.empty() && static_cast<std::int64_t>(rotary.size()) != spec.num_hidden_layers) {
    fields.complain("no_rope_layers", fmt::format("no_rope_layers: found {} entries, expected one for each of the {} "
                                                  "layers, or none",
                                                  rotary.size(), spec.num_hidden_layers));
    return;
  }
  const auto global = [&](std::int64_t i) {
    return rotary.empty() ? (i + 1) % interval == 0 : rotary[static_cast<std::size_t>(i)] == 0;
  };
  LayerGroup layer = attention_group(spec, shape, layers_where(spec.num_hidden_layers, global));
  add_norms(spec, layer, 2);
  if (rotary.empty() && fields.has("layer_types")) {
    add_attention_layers(fields, spec, layer, 0, global);
  } else {
    add(spec.layers, layer);
    layer.where = layers_where(spec.num_hidden_layers, [&](std::int64_t i) { return !global(i); });
    const std::int64_t chunk = fields.integer("attention_chunk_size", 0);
    add(spec.layers, chunk > 0 ? windowed(layer, LayerKind::chunked_attention, chunk) : layer);
  }

  ExpertsShape experts;
  experts.experts = fields.integer("num_local_experts");
  experts.per_token = fields.integer("num_experts_per_tok", 1);
  experts.intermediate_size = experts.shared_intermediate_size = fields.integer("intermediate_size");
  const std::int64_t step = fields.integer("interleave_moe_layer_step", 1);
  add_mlps(spec, experts, fields.integer("intermediate_size_mlp", experts.intermediate_size),
           [step](std::int64_t i) { return (i + 1) % step == 0; });
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
}

// Llama 3.2 Vision: layers of cross_attention_layers keep KV of image tokens alone.
void compile_mllama(HfFields& fields, const Architecture&, ModelSpec& spec) {
  read_sizes(fields, spec);
  const AttentionShape shape = read_attention(fields, spec);
  const std::vector<std::int64_t> cross = fields.integers("cross_attention_layers");
  const auto crosses = [&](std::int64_t i) { return among(cross, i); };
  LayerGroup layer =
      attention_group(spec, shape, layers_where(spec.num_hidden_layers, [&](std::int64_t i) { return !crosses(i); }));
  add_norms(spec, layer, 2);
  add(spec.layers, layer);
  layer.where = layers_where(spec.num_hidden_layers, crosses);
  layer.shares_kv = true;
  layer.weights.replicated += 2 * shape.d_k + 2;
  add(spec.layers, layer);
  spec.mlps = {mlp_group(spec, fields.integer("intermediate_size"), true, false, every_layer(spec))};
  spec.other_embedding_elements = 8 * spec.hidden_size;
  spec.not_counted.emplace_back("KV of image tokens in the cross-attention layers");
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
}

// MiMo-V2: windowed layers with heads of their own; keys wider than values.
void compile_mimo(HfFields& fields, const Architecture&, ModelSpec& spec) {
  read_sizes(fields, spec);
  AttentionShape full = read_attention(fields, spec);
  full.d_v = fields.integer("v_head_dim", full.d_k);
  full.bias = fields.boolean("attention_bias", false);
  AttentionShape sliding = full;
  sliding.query_heads = fields.integer("swa_num_attention_heads", full.query_heads);
  sliding.kv_heads = fields.integer("swa_num_key_value_heads", full.kv_heads);
  sliding.d_k = fields.integer("swa_head_dim", full.d_k);
  sliding.d_v = fields.integer("swa_v_head_dim", full.d_v);
  const std::int64_t window = fields.integer({"sliding_window", "sliding_window_size"});
  const std::vector<std::int64_t> pattern = fields.integers("hybrid_layer_pattern");
  const std::vector<std::int64_t> sparse = fields.integers("moe_layer_freq");
  for (const auto& [key, list] : {std::pair{"hybrid_layer_pattern", &pattern}, std::pair{"moe_layer_freq", &sparse}}) {
    if (static_cast<std::int64_t>(list->size()) == spec.num_hidden_layers) continue;
    fields.complain(key, fmt::format("{}: found {} entries, expected one for each of the {} layers", key, list->size(),
                                     spec.num_hidden_layers));
    return;
  }
  const auto slides = [&](std::int64_t i) { return pattern[static_cast<std::size_t>(i)] != 0; };
  LayerGroup group =
      attention_group(spec, full, layers_where(spec.num_hidden_layers, [&](std::int64_t i) { return !slides(i); }));
  add_norms(spec, group, 2);
  add(spec.layers, group);
  group = attention_group(spec, sliding, layers_where(spec.num_hidden_layers, slides));
  if (fields.boolean("add_swa_attention_sink_bias", false)) group.weights.split += sliding.query_heads;
  add_norms(spec, group, 2);
  add(spec.layers, windowed(group, LayerKind::sliding_window, window));
  ExpertsShape experts;
  experts.experts = fields.integer("n_routed_experts");
  experts.per_token = fields.integer("num_experts_per_tok");
  experts.intermediate_size = fields.integer("moe_intermediate_size");
  experts.shared_intermediate_size = fields.count("n_shared_experts", 0) * experts.intermediate_size;
  experts.router_bias = true;
  add_mlps(spec, experts, fields.integer("intermediate_size"),
           [&](std::int64_t i) { return sparse[static_cast<std::size_t>(i)] != 0; });
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
}

// Step-3.5: attention_other_setting gives the heads of windowed layers, moe_layers_enum the layers with experts.
void compile_step(HfFields& fields, const Architecture&, ModelSpec& spec) {
  read_sizes(fields, spec);
  AttentionShape full = read_attention(fields, spec);
  full.kv_heads = fields.integer({"num_attention_groups", "num_key_value_heads"});
  full.qk_norm = QkNorm::per_head;
  AttentionShape sliding = full;
  if (std::optional<HfFields> other = fields.object("attention_other_setting")) {
    sliding.query_heads = other->integer("num_attention_heads", full.query_heads);
    sliding.kv_heads = other->integer({"num_attention_groups", "num_key_value_heads"}, full.kv_heads);
    sliding.d_k = sliding.d_v = other->integer("head_dim", full.d_k);
  }
  const auto kinds = layers_by_kind(fields, spec, "layer_types", fields.texts("layer_types"),
                                    {{"full_attention", 0}, {"sliding_attention", 1}});
  const bool gated = fields.boolean("use_head_wise_attn_gate", false);
  const auto add_kind = [&](const AttentionShape& shape, const std::vector<std::int32_t>& where, bool slides) {
    LayerGroup group = attention_group(spec, shape, where);
    if (gated) group.weights.split += spec.hidden_size * shape.query_heads;
    add_norms(spec, group, 2);
    if (slides) group = windowed(group, LayerKind::sliding_window, fields.integer("sliding_window"));
    add(spec.layers, group);
  };
  add_kind(full, kinds[0], false);
  add_kind(sliding, kinds[1], true);
  std::vector<std::int64_t> sparse;
  std::istringstream list(fields.text("moe_layers_enum").value_or(""));
  for (std::string entry; std::getline(list, entry, ',');) {
    if (entry.empty() || entry.size() > 5 || entry.find_first_not_of("0123456789") != std::string::npos) {
      fields.complain("moe_layers_enum", fmt::format("moe_layers_enum: \"{}\" is no layer's number", entry));
      return;
    }
    sparse.push_back(std::stoll(entry));
  }
  ExpertsShape experts;
  experts.experts = fields.integer("moe_num_experts");
  experts.per_token = fields.integer("moe_top_k");
  experts.intermediate_size = fields.integer("moe_intermediate_size");
  experts.shared_intermediate_size = fields.count("share_expert_dim", 0);
  experts.router_bias = fields.boolean("use_moe_router_bias", false);
  add_mlps(spec, experts, fields.integer("intermediate_size"), [&](std::int64_t i) { return among(sparse, i); });
  spec.draft_layers = fields.count("num_nextn_predict_layers", 0);
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
}

}  // namespace blockyard::model
