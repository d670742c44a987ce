// The parts that families share: sizes that every decoder has, attention layers, MLPs, experts, and which layer is
// what.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/model/hf_fields.h"
#include "sim/model/layer_group.h"
#include "sim/model/model_spec.h"

namespace blockyard::model {

enum class QkNorm { none, per_head, whole };  // a norm over a head's elements, or over those of all heads

struct AttentionShape {
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t d_k = 0;
  std::int64_t d_v = 0;
  bool bias = false;         // of q, k and v
  bool output_bias = false;  // of o
  bool output_gate = false;  // a gate as wide as the output, from q's projection
  QkNorm qk_norm = QkNorm::none;
};

struct ExpertsShape {
  std::int64_t experts = 0;
  std::int64_t per_token = 0;
  std::int64_t intermediate_size = 0;         // of one
  std::int64_t shared_intermediate_size = 0;  // of all shared ones together
  bool gated = true;
  bool bias = false;
  bool router_bias = false;
  bool shared_gate = false;
};

// hidden_size, num_hidden_layers, vocab_size, max_position_embeddings, under the names that families give them.
void read_sizes(HfFields& fields, ModelSpec& spec);
// Heads and head_dim: kv heads = heads if absent, head_dim = hidden_size / heads if absent.
[[nodiscard]] AttentionShape read_attention(HfFields& fields, const ModelSpec& spec);

[[nodiscard]] LayerGroup attention_group(const ModelSpec& spec, const AttentionShape& shape,
                                         std::vector<std::int32_t> where);
[[nodiscard]] LayerGroup windowed(LayerGroup group, LayerKind kind, std::int64_t window);
// norms: those of hidden_size in a layer; they are counted with the mixer.
void add_norms(const ModelSpec& spec, LayerGroup& group, std::int64_t norms);

[[nodiscard]] MlpGroup mlp_group(const ModelSpec& spec, std::int64_t intermediate, bool gated, bool bias,
                                 std::vector<std::int32_t> where);
[[nodiscard]] MlpGroup experts_group(const ModelSpec& spec, const ExpertsShape& shape, std::vector<std::int32_t> where);

// The fields of the commonest layer, from its groups.
void describe_usual(ModelSpec& spec);
// Adds the group unless it has no layers.
void add(std::vector<LayerGroup>& groups, LayerGroup group);
void add(std::vector<MlpGroup>& groups, MlpGroup group);

[[nodiscard]] std::vector<std::int32_t> layers_where(std::int64_t layers,
                                                     const std::function<bool(std::int64_t)>& holds);

// The layers of each of `kinds` in a list like layer_types, in the order of `kinds`; a wrong length and an unknown kind
// are complaints. `kinds` may name one kind several times: put the same index for each.
struct KindName {
  const char* name;
  int index;
};
[[nodiscard]] std::vector<std::vector<std::int32_t>> layers_by_kind(HfFields& fields, const ModelSpec& spec,
                                                                    std::string_view key,
                                                                    const std::vector<std::string>& list,
                                                                    const std::vector<KindName>& kinds);

// Attention layers alike but for how far they look back: what layer_types says, or where the file has none, windowed
// where `slides` holds of a layer's number. Chunks are of attention_chunk_size.
void add_attention_layers(HfFields& fields, ModelSpec& spec, LayerGroup layer, std::int64_t window,
                          const std::function<bool(std::int64_t)>& slides);

// Number format of recurrent state: `key` if it is there, else the model's own.
[[nodiscard]] ElementType read_state_type(HfFields& fields, const ModelSpec& spec, std::string_view key);

}  // namespace blockyard::model
