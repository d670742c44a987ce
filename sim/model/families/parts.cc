#include "sim/model/families/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace blockyard::model {
namespace {

std::int64_t norm_elements(const ModelSpec& spec) { return spec.norm_bias ? 2 * spec.hidden_size : spec.hidden_size; }

}  // namespace

void read_sizes(HfFields& fields, ModelSpec& spec) {
  spec.num_hidden_layers = fields.integer({"num_hidden_layers", "n_layer", "n_layers", "num_layers"});
  spec.hidden_size = fields.integer({"hidden_size", "n_embd", "d_model"});
  spec.vocab_size = fields.integer({"vocab_size", "padded_vocab_size"});
  spec.max_position_embeddings = fields.integer({"max_position_embeddings", "n_positions", "max_seq_len", "seq_length",
                                                 "max_sequence_length", "model_max_length"});
  constexpr std::int64_t kMostLayers = 10'000;
  if (spec.num_hidden_layers > kMostLayers) {
    fields.complain("num_hidden_layers",
                    fmt::format("num_hidden_layers is {}, expected 1 to {}", spec.num_hidden_layers, kMostLayers));
    spec.num_hidden_layers = 1;
  }
}

AttentionShape read_attention(HfFields& fields, const ModelSpec& spec) {
  AttentionShape shape;
  shape.query_heads = fields.integer({"num_attention_heads", "n_head", "n_heads"});
  shape.kv_heads = fields.integer("num_key_value_heads", shape.query_heads);
  if (fields.has("head_dim")) {
    shape.d_k = fields.integer("head_dim", 1);
  } else {
    shape.d_k = std::max<std::int64_t>(1, spec.hidden_size / shape.query_heads);
    if (fields.clean() && spec.hidden_size % shape.query_heads != 0) {
      fields.complain("num_attention_heads",
                      fmt::format("num_attention_heads: {} does not divide hidden_size {}, and there is no head_dim",
                                  shape.query_heads, spec.hidden_size));
    }
  }
  shape.d_v = shape.d_k;
  return shape;
}

LayerGroup attention_group(const ModelSpec& spec, const AttentionShape& a, std::vector<std::int32_t> where) {
  LayerGroup group;
  group.where = std::move(where);
  group.query_heads = a.query_heads;
  group.kv_heads = a.kv_heads;
  group.d_k = a.d_k;
  group.d_v = a.d_v;
  const std::int64_t q = a.query_heads * a.d_k * (a.output_gate ? 2 : 1);
  const std::int64_t kv = a.kv_heads * (a.d_k + a.d_v);
  group.weights.split = spec.hidden_size * q + a.query_heads * a.d_v * spec.hidden_size + (a.bias ? q : 0);
  group.weights.key_value = spec.hidden_size * kv + (a.bias ? kv : 0);
  group.weights.replicated = a.output_bias ? spec.hidden_size : 0;
  if (a.qk_norm == QkNorm::per_head) group.weights.replicated += 2 * a.d_k;
  if (a.qk_norm == QkNorm::whole) group.weights.replicated += (a.query_heads + a.kv_heads) * a.d_k;
  return group;
}

LayerGroup windowed(LayerGroup group, LayerKind kind, std::int64_t window) {
  group.kind = kind;
  group.window = Tokens(window);
  return group;
}

void add_norms(const ModelSpec& spec, LayerGroup& group, std::int64_t norms) {
  group.weights.replicated += norms * norm_elements(spec);
}

MlpGroup mlp_group(const ModelSpec& spec, std::int64_t intermediate, bool gated, bool bias,
                   std::vector<std::int32_t> where) {
  const std::int64_t up = gated ? 2 : 1;
  MlpGroup group;
  group.where = std::move(where);
  group.intermediate_size = intermediate;
  group.gated = gated;
  group.weights.split = (up + 1) * spec.hidden_size * intermediate + (bias ? up * intermediate : 0);
  group.weights.replicated = bias ? spec.hidden_size : 0;
  return group;
}

MlpGroup experts_group(const ModelSpec& spec, const ExpertsShape& e, std::vector<std::int32_t> where) {
  const std::int64_t matrices = e.gated ? 3 : 2;
  const std::int64_t bias = e.bias ? (matrices - 1) * e.intermediate_size + spec.hidden_size : 0;
  MlpGroup group;
  group.where = std::move(where);
  group.intermediate_size = e.intermediate_size;
  group.experts = e.experts;
  group.experts_per_token = e.per_token;
  group.shared_intermediate_size = e.shared_intermediate_size;
  group.gated = e.gated;
  group.expert_weights = e.experts * (matrices * spec.hidden_size * e.intermediate_size + bias);
  group.weights.split = matrices * spec.hidden_size * e.shared_intermediate_size;
  group.weights.replicated =
      e.experts * spec.hidden_size + (e.router_bias ? e.experts : 0) + (e.shared_gate ? spec.hidden_size : 0);
  return group;
}

void describe_usual(ModelSpec& spec) {
  const LayerGroup* attention = nullptr;
  for (const LayerGroup& group : spec.layers) {
    if (group.attends() && (attention == nullptr || group.layers() > attention->layers())) attention = &group;
  }
  if (attention != nullptr) {
    spec.num_attention_heads = attention->query_heads;
    spec.num_key_value_heads = attention->kv_heads;
    spec.head_dim = attention->latent ? attention->d_k : std::max(attention->d_k, attention->d_v);
  }
  const MlpGroup* mlp = nullptr;
  for (const MlpGroup& group : spec.mlps) {
    if (mlp == nullptr || group.layers() > mlp->layers()) mlp = &group;
  }
  if (mlp != nullptr) {
    spec.intermediate_size = mlp->intermediate_size;
    spec.num_experts = mlp->experts;
    spec.experts_per_token = mlp->experts_per_token;
    spec.gated_mlp = mlp->gated;
  }
}

void add(std::vector<LayerGroup>& groups, LayerGroup group) {
  if (!group.where.empty()) groups.push_back(std::move(group));
}

void add(std::vector<MlpGroup>& groups, MlpGroup group) {
  if (!group.where.empty()) groups.push_back(std::move(group));
}

std::vector<std::int32_t> layers_where(std::int64_t layers, const std::function<bool(std::int64_t)>& holds) {
  std::vector<std::int32_t> where;
  for (std::int64_t i = 0; i < layers; ++i) {
    if (holds(i)) where.push_back(static_cast<std::int32_t>(i));
  }
  return where;
}

std::vector<std::vector<std::int32_t>> layers_by_kind(HfFields& fields, const ModelSpec& spec, std::string_view key,
                                                      const std::vector<std::string>& list,
                                                      const std::vector<KindName>& kinds) {
  int most = 0;
  for (const KindName& kind : kinds) most = std::max(most, kind.index);
  std::vector<std::vector<std::int32_t>> found(static_cast<std::size_t>(most) + 1);
  if (static_cast<std::int64_t>(list.size()) != spec.num_hidden_layers) {
    fields.complain(key, fmt::format("{}: found {} entries, expected one for each of the {} layers", key, list.size(),
                                     spec.num_hidden_layers));
    return found;
  }
  std::vector<std::string> names;
  names.reserve(kinds.size());
  for (const KindName& kind : kinds) names.emplace_back(kind.name);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto kind = std::find(names.begin(), names.end(), list[i]);
    if (kind == names.end()) {
      fields.complain(key, fmt::format("{}: \"{}\" of layer {} is not known: what such a layer keeps is missing here; "
                                       "expected {}{}",
                                       key, list[i], i, fmt::join(names, ", "), did_you_mean(list[i], names)));
      return found;
    }
    const auto row = static_cast<std::size_t>(kind - names.begin());
    found[static_cast<std::size_t>(kinds[row].index)].push_back(static_cast<std::int32_t>(i));
  }
  return found;
}

void add_attention_layers(HfFields& fields, ModelSpec& spec, LayerGroup layer, std::int64_t window,
                          const std::function<bool(std::int64_t)>& slides) {
  std::vector<std::vector<std::int32_t>> kinds;
  if (fields.has("layer_types")) {
    kinds = layers_by_kind(fields, spec, "layer_types", fields.texts("layer_types"),
                           {{"full_attention", 0}, {"sliding_attention", 1}, {"chunked_attention", 2}});
  } else {
    kinds = {layers_where(spec.num_hidden_layers, [&](std::int64_t i) { return !slides(i); }),
             layers_where(spec.num_hidden_layers, slides),
             {}};
  }
  const std::size_t placed = kinds[0].size() + kinds[1].size() + kinds[2].size();
  if (static_cast<std::int64_t>(placed) != spec.num_hidden_layers) return;  // the list is wrong, and was told so
  const auto reach = [&](const char* key, std::int64_t length) {
    if (length == 0) fields.complain(key, fmt::format("{}: missing, although layer_types has such layers", key));
    return std::max<std::int64_t>(1, length);
  };
  // A window that is switched off: such layers see everything.
  const bool off = (fields.has("use_sliding_window") && !fields.boolean("use_sliding_window", false)) ||
                   (fields.has("sliding_window") && window == 0);
  if (off) {
    kinds[0].insert(kinds[0].end(), kinds[1].begin(), kinds[1].end());
    std::sort(kinds[0].begin(), kinds[0].end());
    kinds[1].clear();
  }
  layer.where = kinds[0];
  add(spec.layers, layer);
  layer.where = kinds[1];
  if (!layer.where.empty())
    add(spec.layers, windowed(layer, LayerKind::sliding_window, reach("sliding_window", window)));
  layer.where = kinds[2];
  if (!layer.where.empty()) {
    add(spec.layers, windowed(layer, LayerKind::chunked_attention,
                              reach("attention_chunk_size", fields.integer("attention_chunk_size", 0))));
  }
}

ElementType read_state_type(HfFields& fields, const ModelSpec& spec, std::string_view key) {
  const std::optional<std::string> name = fields.text(key);
  if (!name) return spec.dtype;
  const std::optional<ElementType> type = element_type(*name);
  if (type) return *type;
  fields.complain(key, fmt::format("{}: \"{}\" is not known, expected float32, bfloat16 or float16", key, *name));
  return spec.dtype;
}

}  // namespace blockyard::model
