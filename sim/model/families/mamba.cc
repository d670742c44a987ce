// State-space families, alone and beside attention. Mamba: recurrence d_inner d_state, convolution's past (kernel - 1)
// d_inner. Mamba2: recurrence heads head_dim d_state, convolution's past (kernel - 1)(heads head_dim + 2 groups
// d_state). Sources: arXiv 2312.00752, 2405.21060.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "sim/model/families/families.h"
#include "sim/model/families/parts.h"

namespace blockyard::model {
namespace {

std::vector<std::int32_t> every_layer(const ModelSpec& spec) { return all_layers(spec.num_hidden_layers); }

LayerGroup mamba1(const ModelSpec& spec, std::int64_t inner, std::int64_t state, std::int64_t kernel, std::int64_t rank,
                  std::vector<std::int32_t> where) {
  LayerGroup group;
  group.kind = LayerKind::recurrent;
  group.where = std::move(where);
  group.state.heads = inner;
  group.state.elements = inner * state;
  group.state.conv_elements = (kernel - 1) * inner;
  group.state.type = group.state.conv_type = spec.dtype;
  group.weights.split = 2 * spec.hidden_size * inner + inner * (kernel + 1) + inner * (rank + 2 * state) +
                        (rank + 1) * inner + inner * state + inner + inner * spec.hidden_size;
  return group;
}

struct Mamba2Shape {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t state = 0;
  std::int64_t groups = 1;
  std::int64_t kernel = 4;
  bool norm = true;  // over d_inner, before the output projection
};

LayerGroup mamba2(HfFields& fields, const ModelSpec& spec, const Mamba2Shape& m, std::vector<std::int32_t> where) {
  const std::int64_t inner = m.heads * m.head_dim;
  const std::int64_t shared = 2 * m.groups * m.state;
  LayerGroup group;
  group.kind = LayerKind::recurrent;
  group.where = std::move(where);
  group.state.heads = m.heads;
  group.state.elements = inner * m.state;
  group.state.conv_elements = (m.kernel - 1) * (inner + shared);
  group.state.conv_group_elements = (m.kernel - 1) * shared;
  group.state.groups = m.groups;
  group.state.type = read_state_type(fields, spec, "mamba_ssm_cache_dtype");
  group.state.conv_type = spec.dtype;
  group.weights.split = spec.hidden_size * (2 * inner + shared + m.heads) + (inner + shared) * (m.kernel + 1) +
                        3 * m.heads + (m.norm ? inner : 0) + inner * spec.hidden_size;
  return group;
}

// mamba_n_heads, mamba_d_head ("auto": what mamba_expand makes), mamba_d_state, mamba_n_groups, mamba_d_conv.
Mamba2Shape read_mamba2(HfFields& fields, const ModelSpec& spec) {
  Mamba2Shape m;
  m.heads = fields.integer("mamba_n_heads");
  m.state = fields.integer("mamba_d_state");
  m.groups = fields.integer("mamba_n_groups", 1);
  m.kernel = fields.integer("mamba_d_conv", 4);
  const std::int64_t inner =
      fields.has("mamba_d_ssm") ? fields.integer("mamba_d_ssm") : fields.integer("mamba_expand", 2) * spec.hidden_size;
  const bool automatic = !fields.has("mamba_d_head") || fields.is_text("mamba_d_head", "auto");
  m.head_dim = automatic ? std::max<std::int64_t>(1, inner / m.heads) : fields.integer("mamba_d_head");
  return m;
}

// The layers that a list names by number.
std::vector<std::int32_t> layers_numbered(HfFields& fields, const ModelSpec& spec, const char* key) {
  const std::vector<std::int64_t> named = fields.integers(key);
  const std::vector<std::int32_t> where = layers_where(
      spec.num_hidden_layers, [&](std::int64_t i) { return std::find(named.begin(), named.end(), i) != named.end(); });
  if (where.size() != named.size()) {
    fields.complain(key, fmt::format("{}: expected different numbers below {}", key, spec.num_hidden_layers));
  }
  return where;
}

}  // namespace

// Nothing but state: Mamba, FalconMamba, Mamba2.
void compile_mamba(HfFields& fields, const Architecture& self, ModelSpec& spec) {
  spec.num_hidden_layers = fields.integer({"num_hidden_layers", "n_layer"});
  spec.hidden_size = fields.integer({"hidden_size", "d_model"});
  spec.vocab_size = fields.integer("vocab_size");
  spec.max_position_embeddings = fields.integer("max_position_embeddings", 1'000'000);  // no limit of its own
  if (spec.num_hidden_layers > 10'000) {
    fields.complain("num_hidden_layers", "num_hidden_layers: expected 1 to 10000");
    return;
  }
  const std::int64_t inner = fields.integer("expand", 2) * spec.hidden_size;
  const std::int64_t state = fields.integer("state_size");
  const std::int64_t kernel = fields.integer("conv_kernel", 4);
  if (std::string_view(self.model_type) == "mamba2") {
    Mamba2Shape m;
    m.heads = fields.integer("num_heads");
    m.head_dim = fields.integer("head_dim");
    m.state = state;
    m.groups = fields.integer("n_groups", 1);
    m.kernel = kernel;
    spec.layers = {mamba2(fields, spec, m, every_layer(spec))};
  } else {
    const std::int64_t rank =
        fields.is_text("time_step_rank", "auto") ? (spec.hidden_size + 15) / 16 : fields.integer("time_step_rank");
    spec.layers = {mamba1(spec, fields.integer("intermediate_size", inner), state, kernel, rank, every_layer(spec))};
  }
  add_norms(spec, spec.layers.front(), 1);
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", true);
}

// Attention where i % attn_layer_period == attn_layer_offset, experts likewise; Mamba elsewhere.
void compile_jamba(HfFields& fields, const Architecture&, ModelSpec& spec) {
  read_sizes(fields, spec);
  const auto periodic = [&](const char* period, const char* offset, std::int64_t p, std::int64_t o) {
    const std::int64_t every = fields.integer(period, p);
    const std::int64_t first = fields.count(offset, o);
    return layers_where(spec.num_hidden_layers, [=](std::int64_t i) { return i % every == first; });
  };
  const std::vector<std::int32_t> attending = periodic("attn_layer_period", "attn_layer_offset", 8, 4);
  const std::vector<std::int32_t> sparse = periodic("expert_layer_period", "expert_layer_offset", 2, 1);
  const auto others = [&](const std::vector<std::int32_t>& where) {
    return layers_where(spec.num_hidden_layers, [&](std::int64_t i) {
      return !std::binary_search(where.begin(), where.end(), static_cast<std::int32_t>(i));
    });
  };
  LayerGroup attention = attention_group(spec, read_attention(fields, spec), attending);
  add_norms(spec, attention, 2);
  add(spec.layers, attention);
  const std::int64_t rank = !fields.has("mamba_dt_rank") || fields.is_text("mamba_dt_rank", "auto")
                                ? (spec.hidden_size + 15) / 16
                                : fields.integer("mamba_dt_rank");
  const std::int64_t state = fields.integer("mamba_d_state", 16);
  LayerGroup mamba = mamba1(spec, fields.integer("mamba_expand", 2) * spec.hidden_size, state,
                            fields.integer("mamba_d_conv", 4), rank, others(attending));
  mamba.weights.replicated += rank + 2 * state;  // norms of dt, B and C
  add_norms(spec, mamba, 2);
  add(spec.layers, mamba);
  ExpertsShape experts;
  experts.experts = fields.integer("num_experts", 16);
  experts.per_token = fields.integer("num_experts_per_tok", 2);
  experts.intermediate_size = fields.integer("intermediate_size");
  if (experts.experts > 1) {
    add(spec.mlps, experts_group(spec, experts, sparse));
    add(spec.mlps, mlp_group(spec, experts.intermediate_size, true, false, others(sparse)));
  } else {
    add(spec.mlps, mlp_group(spec, experts.intermediate_size, true, false, every_layer(spec)));
  }
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
}

// Bamba names its attention layers by number, Granite 4 by layer_types; Granite may have experts.
void compile_bamba(HfFields& fields, const Architecture& self, ModelSpec& spec) {
  read_sizes(fields, spec);
  AttentionShape shape = read_attention(fields, spec);
  const bool bamba = std::string_view(self.model_type) == "bamba";
  if (bamba && !fields.has("num_key_value_heads")) shape.kv_heads = 8;  // the class's default
  std::vector<std::int32_t> attending;
  if (fields.has("layer_types") || fields.has("layers_block_type")) {
    const char* key = fields.has("layer_types") ? "layer_types" : "layers_block_type";
    attending = layers_by_kind(fields, spec, key, fields.texts(key), {{"mamba", 0}, {"attention", 1}})[1];
  } else {
    attending = layers_numbered(fields, spec, "attn_layer_indices");
  }
  LayerGroup attention = attention_group(spec, shape, attending);
  add_norms(spec, attention, 2);
  add(spec.layers, attention);
  LayerGroup mamba =
      mamba2(fields, spec, read_mamba2(fields, spec), layers_where(spec.num_hidden_layers, [&](std::int64_t i) {
               return !std::binary_search(attending.begin(), attending.end(), static_cast<std::int32_t>(i));
             }));
  add_norms(spec, mamba, 2);
  add(spec.layers, mamba);
  const std::int64_t experts = fields.count("num_local_experts", 0);
  if (experts > 0) {
    ExpertsShape e;
    e.experts = experts;
    e.per_token = fields.integer("num_experts_per_tok");
    e.intermediate_size = fields.integer("intermediate_size");
    e.shared_intermediate_size = fields.count("shared_intermediate_size", 0);
    spec.mlps = {experts_group(spec, e, every_layer(spec))};
  } else {
    spec.mlps = {mlp_group(spec, fields.integer({"shared_intermediate_size", "intermediate_size"}), true, false,
                           every_layer(spec))};
  }
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
}

// Attention and Mamba2 side by side in every layer.
void compile_falcon_h1(HfFields& fields, const Architecture&, ModelSpec& spec) {
  read_sizes(fields, spec);
  AttentionShape shape = read_attention(fields, spec);
  shape.bias = shape.output_bias = fields.boolean("attention_bias", false);
  LayerGroup attention = attention_group(spec, shape, every_layer(spec));
  add_norms(spec, attention, 2);
  Mamba2Shape m = read_mamba2(fields, spec);
  m.norm = fields.boolean("mamba_rms_norm", false);
  spec.layers = {attention, mamba2(fields, spec, m, every_layer(spec))};
  spec.mlps = {
      mlp_group(spec, fields.integer("intermediate_size"), true, fields.boolean("mlp_bias", false), every_layer(spec))};
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
}

// Each layer is one thing: M a Mamba2 mixer, * attention, - an MLP of two matrices, E experts.
void compile_nemotron_h(HfFields& fields, const Architecture&, ModelSpec& spec) {
  read_sizes(fields, spec);
  std::vector<std::string> kinds = fields.texts("layers_block_type");
  const char* key = "layers_block_type";
  if (kinds.empty()) {
    key = "hybrid_override_pattern";
    for (const char c : fields.text(key).value_or("")) kinds.emplace_back(1, c);
  }
  const auto where =
      layers_by_kind(fields, spec, key, kinds,
                     {{"M", 0}, {"*", 1}, {"-", 2}, {"E", 3}, {"mamba", 0}, {"attention", 1}, {"mlp", 2}, {"moe", 3}});
  Mamba2Shape m;
  m.heads = fields.integer("mamba_num_heads");
  m.head_dim = fields.integer("mamba_head_dim");
  m.state = fields.integer("ssm_state_size");
  m.groups = fields.integer("n_groups");
  m.kernel = fields.integer("conv_kernel", 4);
  AttentionShape shape;
  shape.query_heads = fields.integer("num_attention_heads");
  shape.kv_heads = fields.integer("num_key_value_heads", shape.query_heads);
  shape.d_k = shape.d_v = fields.integer({"attention_head_dim", "head_dim"},
                                         std::max<std::int64_t>(1, spec.hidden_size / shape.query_heads));
  LayerGroup attention = attention_group(spec, shape, where[1]);
  add_norms(spec, attention, 1);
  add(spec.layers, attention);
  LayerGroup mamba = mamba2(fields, spec, m, where[0]);
  add_norms(spec, mamba, 1);
  add(spec.layers, mamba);
  if (!where[2].empty()) {
    MlpGroup mlp = mlp_group(spec, fields.integer("intermediate_size"), false, false, where[2]);
    mlp.weights.replicated += spec.hidden_size;
    spec.mlps.push_back(mlp);
  }
  if (!where[3].empty()) {
    ExpertsShape e;
    e.gated = false;
    e.router_bias = true;
    e.experts = fields.integer("n_routed_experts");
    e.per_token = fields.integer("num_experts_per_tok");
    e.intermediate_size = fields.integer("moe_intermediate_size");
    e.shared_intermediate_size = fields.integer("n_shared_experts", 1) *
                                 fields.integer({"moe_shared_expert_intermediate_size", "moe_intermediate_size"});
    MlpGroup experts = experts_group(spec, e, where[3]);
    const std::int64_t narrow = fields.count("moe_latent_size", 0);  // experts that work on a narrower state
    if (narrow > 0) {
      experts.expert_hidden_size = narrow;
      experts.expert_weights = e.experts * 2 * narrow * e.intermediate_size;
      experts.weights.replicated += 2 * spec.hidden_size * narrow;
    }
    experts.weights.replicated += spec.hidden_size;
    spec.mlps.push_back(experts);
  }
  spec.draft_layers = fields.count("num_nextn_predict_layers", 0);
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
}

// "hybrid" layers add attention of twice the width, whose weights a few blocks share; each keeps KV of its own.
void compile_zamba2(HfFields& fields, const Architecture&, ModelSpec& spec) {
  read_sizes(fields, spec);
  std::vector<std::int32_t> hybrid;
  if (fields.has("layers_block_type") || !fields.has("hybrid_layer_ids")) {
    hybrid = layers_by_kind(fields, spec, "layers_block_type", fields.texts("layers_block_type"),
                            {{"mamba", 0}, {"hybrid", 1}})[1];
  } else {
    hybrid = layers_numbered(fields, spec, "hybrid_layer_ids");
  }
  AttentionShape shape;
  shape.query_heads = fields.integer("num_attention_heads");
  shape.kv_heads = fields.integer("num_key_value_heads", shape.query_heads);
  shape.d_k = shape.d_v = fields.integer({"attention_head_dim", "kv_channels"},
                                         std::max<std::int64_t>(1, 2 * spec.hidden_size / shape.query_heads));
  Mamba2Shape m;
  m.heads = fields.integer("n_mamba_heads");
  m.state = fields.integer("mamba_d_state");
  m.groups = fields.integer("mamba_ngroups", 1);
  m.kernel = fields.integer("mamba_d_conv", 4);
  m.head_dim = std::max<std::int64_t>(1, fields.integer("mamba_expand", 2) * spec.hidden_size / m.heads);
  LayerGroup attention = attention_group(spec, shape, hybrid);
  attention.weights = {};
  add(spec.layers, attention);
  LayerGroup mamba = mamba2(fields, spec, m, every_layer(spec));
  add_norms(spec, mamba, 1);
  spec.layers.push_back(mamba);
  spec.weights_known = false;
  spec.not_counted.emplace_back("weights of the shared attention blocks");
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", true);
}

}  // namespace blockyard::model
