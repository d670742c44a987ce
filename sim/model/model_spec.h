// A model, as far as memory and time depend on it. Most models repeat one layer: the fields named after Hugging Face's
// config.json describe it. Where layers differ, `layers` and `mlps` list the groups (layer_group.h) and the fields
// describe the commonest attention layer and MLP. Whoever counts memory, weights or time asks layer_groups() and
// mlp_groups(), which are always complete. Sizes are whole-model, not per GPU, unless the name says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/base/quantities.h"
#include "sim/model/element_type.h"
#include "sim/model/layer_group.h"
#include "sim/model/quantization.h"

namespace blockyard::model {

struct ModelSpec {
  std::string name;
  std::string source;  // where the numbers were read

  std::int64_t num_hidden_layers = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;  // of one expert, if there are experts
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  std::int64_t head_dim = 0;  // explicit: hidden_size / num_attention_heads is only its usual value
  std::int64_t vocab_size = 0;
  std::int64_t max_position_embeddings = 0;
  std::int64_t sliding_window = 0;               // tokens a layer looks back; 0 = all
  std::int64_t learned_position_embeddings = 0;  // rows of a learned position table (OPT: max_position_embeddings + 2)

  std::int64_t num_experts = 0;        // 0 = dense
  std::int64_t experts_per_token = 0;  // 0 = dense

  bool tie_word_embeddings = false;
  bool gated_mlp = true;               // gate and up beside down (SwiGLU): three matrices instead of two
  bool attention_bias = false;         // biases of q, k and v
  bool attention_output_bias = false;  // bias of o
  bool mlp_bias = false;
  bool norm_bias = false;  // LayerNorm rather than RMSNorm
  bool qk_norm = false;    // a norm over head_dim for q and one for k in every layer

  std::vector<LayerGroup> layers;             // empty: all layers are as the fields say
  std::vector<MlpGroup> mlps;                 // likewise
  std::int64_t other_embedding_elements = 0;  // tables beside the vocabulary's, on every rank
  std::int64_t draft_layers = 0;              // of the model's own multi-token predictor, not among the hidden layers
  std::vector<std::string> not_counted;       // parts of the model that neither groups nor weights hold

  ElementType dtype = ElementType::bf16;     // of the weights, and what quantised weights compute in
  bool weights_known = true;                 // false: not_counted holds weights that no rule here gives
  std::optional<Quantization> quantization;  // of the weights
  std::optional<ElementType> kv_dtype;       // where the model's files ask for one

  [[nodiscard]] bool is_moe() const { return num_experts > 0; }
};

// Groups of the model's layers; a layer may be in several of layer_groups (attention beside recurrent state) or none.
[[nodiscard]] std::vector<LayerGroup> layer_groups(const ModelSpec& spec);
[[nodiscard]] std::vector<MlpGroup> mlp_groups(const ModelSpec& spec);

// Wrong or contradictory values, all of them, at `place`.
void check(const ModelSpec& spec, const Place& place, Diagnostics& diagnostics);
// Whether tensor parallelism of degree `tp` can split it: query heads, recurrent heads and MLP widths divide by tp; kv
// heads divide by tp, or tp by kv heads (they are replicated then).
void check_tensor_parallel(const ModelSpec& spec, std::int64_t tp, const Place& place, Diagnostics& diagnostics);

// Heads of one rank; the spec has passed check_tensor_parallel.
[[nodiscard]] std::int64_t attention_heads_per_gpu(const ModelSpec& spec, std::int64_t tp);
[[nodiscard]] std::int64_t kv_heads_per_gpu(std::int64_t kv_heads, std::int64_t tp);

}  // namespace blockyard::model
