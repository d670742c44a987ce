// A decoder-only transformer, as far as memory and time depend on it. Fields are named after Hugging Face's config.json
// where it has them. parameter_count and weight_bytes follow from the fields: embedding (once more for the output head
// unless tied), per layer attention projections, MLP or experts with their router, norms and biases; checked against
// published counts. Sizes are whole-model, not per GPU, unless the name says so.
#pragma once

#include <cstdint>
#include <string>

#include "sim/base/diagnostics.h"
#include "sim/base/quantities.h"
#include "sim/model/element_type.h"

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

  ElementType dtype = ElementType::bf16;  // of the weights

  [[nodiscard]] bool is_moe() const { return num_experts > 0; }
};

// Wrong or contradictory values, all of them, at `place`.
void check(const ModelSpec& spec, const Place& place, Diagnostics& diagnostics);
// Whether tensor parallelism of degree `tp` can split it: heads and intermediate_size divide by tp; kv heads divide by
// tp, or tp by kv heads (they are replicated then).
void check_tensor_parallel(const ModelSpec& spec, std::int64_t tp, const Place& place, Diagnostics& diagnostics);

[[nodiscard]] std::int64_t parameter_count(const ModelSpec& spec);
[[nodiscard]] Bytes weight_bytes(const ModelSpec& spec);
// Matrices are split over the ranks (k and v are replicated where tp > kv heads), norms and the router are on every
// one.
[[nodiscard]] Bytes weight_bytes_per_gpu(const ModelSpec& spec, std::int64_t tp);

// Heads of one rank; the spec has passed check_tensor_parallel.
[[nodiscard]] std::int64_t attention_heads_per_gpu(const ModelSpec& spec, std::int64_t tp);
[[nodiscard]] std::int64_t kv_heads_per_gpu(std::int64_t kv_heads, std::int64_t tp);

}  // namespace blockyard::model
