// Gemma: windows that alternate with full attention, wide heads, four norms a layer, a tied embedding.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/model/families/families.h"
#include "sim/model/families/parts.h"

namespace blockyard::model {
namespace {

constexpr std::int64_t kFull = 0;
constexpr std::int64_t kSliding = 1;
using Kinds = std::vector<std::vector<std::int32_t>>;

// layer_types, or full attention in the last layer of each `pattern`.
Kinds alternating(HfFields& fields, const ModelSpec& spec, std::int64_t pattern) {
  if (fields.has("layer_types")) {
    return layers_by_kind(fields, spec, "layer_types", fields.texts("layer_types"),
                          {{"full_attention", kFull}, {"sliding_attention", kSliding}});
  }
  const auto full = [pattern](std::int64_t i) { return (i + 1) % pattern == 0; };
  return {layers_where(spec.num_hidden_layers, full),
          layers_where(spec.num_hidden_layers, [&](std::int64_t i) { return !full(i); })};
}

// The layers below and from `first`.
std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> cut(const std::vector<std::int32_t>& where,
                                                                    std::int64_t first) {
  const auto at = std::lower_bound(where.begin(), where.end(), static_cast<std::int32_t>(first));
  return {{where.begin(), at}, {at, where.end()}};
}

// Gemma 3n states a width for each layer, and all are the same.
std::int64_t common_width(HfFields& fields) {
  if (!fields.is_list("intermediate_size")) return fields.integer("intermediate_size");
  const std::vector<std::int64_t> widths = fields.integers("intermediate_size");
  const bool same = std::all_of(widths.begin(), widths.end(), [&](std::int64_t w) { return w == widths.front(); });
  if (!widths.empty() && same && widths.front() > 0) return widths.front();
  fields.complain("intermediate_size", "intermediate_size: layers of different width are missing here");
  return 1;
}

}  // namespace

void compile_gemma(HfFields& fields, const Architecture& self, ModelSpec& spec) {
  const std::string_view type = self.model_type;
  const bool first = type == "gemma";
  const bool third = type.starts_with("gemma3");
  read_sizes(fields, spec);
  AttentionShape shape = read_attention(fields, spec);
  if (!fields.has("head_dim")) shape.d_k = shape.d_v = fields.integer("head_dim");  // its default differs by version
  shape.bias = shape.output_bias = fields.boolean("attention_bias", false);
  shape.qk_norm = third ? QkNorm::per_head : QkNorm::none;
  LayerGroup layer = attention_group(spec, shape, all_layers(spec.num_hidden_layers));
  add_norms(spec, layer, first ? 2 : 4);
  if (first) {
    spec.layers = {layer};
  } else {
    const std::int64_t window = fields.integer("sliding_window");
    Kinds kinds = alternating(fields, spec, third ? fields.integer("sliding_window_pattern", 6) : 2);
    layer.where = kinds[kFull];
    add(spec.layers, layer);
    layer.where = kinds[kSliding];
    add(spec.layers, windowed(layer, LayerKind::sliding_window, window));
  }
  spec.mlps = {mlp_group(spec, fields.integer("intermediate_size"), true, false, all_layers(spec.num_hidden_layers))};
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", true);
}

// Gemma 3n and 4: the last num_kv_shared_layers read the KV of an earlier layer of their kind; global layers may have
// heads of their own number and width; an embedding a layer beside the vocabulary's; experts beside the MLP.
void compile_gemma_n(HfFields& fields, const Architecture& self, ModelSpec& spec) {
  const bool fourth = std::string_view(self.model_type).starts_with("gemma4");
  read_sizes(fields, spec);
  AttentionShape local = read_attention(fields, spec);
  if (!fields.has("head_dim")) local.d_k = local.d_v = fields.integer("head_dim");
  local.qk_norm = QkNorm::per_head;
  AttentionShape global = local;
  global.kv_heads = fields.integer("num_global_key_value_heads", local.kv_heads);
  global.d_k = global.d_v = fields.integer("global_head_dim", local.d_k);
  const std::int64_t window = fields.integer("sliding_window");
  const Kinds kinds = alternating(fields, spec, fourth ? 6 : 5);
  const std::int64_t shared = fields.count("num_kv_shared_layers", 0);
  if (shared >= spec.num_hidden_layers) {
    fields.complain(
        "num_kv_shared_layers",
        fmt::format("num_kv_shared_layers: {} of {} layers leave none to share from", shared, spec.num_hidden_layers));
  }
  const std::int64_t own = std::max<std::int64_t>(0, spec.num_hidden_layers - shared);
  const auto add_kind = [&](const AttentionShape& shape, const std::vector<std::int32_t>& where, bool slides,
                            bool k_is_v) {
    const auto [keeping, sharing] = cut(where, own);
    LayerGroup group = attention_group(spec, shape, keeping);
    if (k_is_v) group.weights.key_value -= spec.hidden_size * shape.kv_heads * shape.d_v;
    add_norms(spec, group, 4);
    if (slides) group = windowed(group, LayerKind::sliding_window, window);
    add(spec.layers, group);
    group.where = sharing;
    group.shares_kv = true;
    add(spec.layers, group);
  };
  add_kind(global, kinds[kFull], false, fields.boolean("attention_k_eq_v", false));
  add_kind(local, kinds[kSliding], true, false);

  const std::int64_t intermediate = common_width(fields);
  // Layers that share KV may have an MLP of twice the width.
  const bool wide = fourth && shared > 0 && fields.boolean("use_double_wide_mlp", false);
  const auto [narrow_layers, wide_layers] = cut(all_layers(spec.num_hidden_layers), own);
  add(spec.mlps, mlp_group(spec, intermediate, true, false, narrow_layers));
  add(spec.mlps, mlp_group(spec, wide ? 2 * intermediate : intermediate, true, false, wide_layers));
  if (fields.boolean("enable_moe_block", false)) {
    ExpertsShape experts;
    experts.experts = fields.integer("num_experts");
    experts.per_token = fields.integer({"top_k_experts", "num_experts_per_tok"});
    experts.intermediate_size = fields.integer({"moe_intermediate_size", "expert_intermediate_size"});
    spec.mlps.push_back(experts_group(spec, experts, all_layers(spec.num_hidden_layers)));
  }
  const std::int64_t per_layer = fields.count("hidden_size_per_layer_input", 0);
  if (per_layer > 0) {
    const std::int64_t rows = fields.integer("vocab_size_per_layer_input", spec.vocab_size);
    // Their table, its projection from the hidden state, and in each layer a gate and a projection back.
    spec.other_embedding_elements = spec.num_hidden_layers * per_layer * (rows + 3 * spec.hidden_size);
  }
  if (fields.has("laurel_rank")) spec.not_counted.emplace_back("weights of LAuReL and AltUp");
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", true);
}

}  // namespace blockyard::model
