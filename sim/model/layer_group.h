// A model's layers in groups of like ones. A layer has token mixers (attention, recurrent state) and an MLP; each kind
// is grouped by itself, since they need not alternate alike: a layer may have no attention, no MLP, or attention and
// recurrent state side by side. Sizes are of the whole model, per layer, before parallelism divides them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/quantities.h"
#include "sim/model/element_type.h"

namespace blockyard::model {

// What a mixer keeps of the past: all tokens; the last `window` ones; those of the current chunk of `window`; a state
// of constant size.
enum class LayerKind { full_attention, sliding_window, chunked_attention, recurrent };

// Elements of a layer's weights, by what tensor parallelism does to them.
struct WeightCount {
  std::int64_t split = 0;       // over all ranks
  std::int64_t key_value = 0;   // over at most kv_heads ranks
  std::int64_t replicated = 0;  // on every rank

  WeightCount& operator+=(const WeightCount& other) {
    split += other.split;
    key_value += other.key_value;
    replicated += other.replicated;
    return *this;
  }
  [[nodiscard]] std::int64_t total() const { return split + key_value + replicated; }
};

// What one sequence keeps in a recurrent layer, whatever its length.
struct RecurrentState {
  std::int64_t heads = 0;                // tp divides them
  std::int64_t elements = 0;             // of the recurrence, all heads
  std::int64_t conv_elements = 0;        // of the short convolution's past: channels x (kernel - 1)
  std::int64_t conv_group_elements = 0;  // part of conv_elements that belongs to groups
  std::int64_t groups = 0;               // groups (B and C of Mamba2): copied where tp does not divide them
  ElementType type = ElementType::bf16;
  ElementType conv_type = ElementType::bf16;
};

struct LayerGroup {
  LayerKind kind = LayerKind::full_attention;
  std::vector<std::int32_t> where;  // numbers of its layers, from 0, ascending

  // Attention. A token leaves kv_heads x (d_k + d_v) elements.
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t d_k = 0;  // elements of a key, of a value
  std::int64_t d_v = 0;
  Tokens window;            // of sliding_window and chunked_attention
  bool latent = false;      // MLA: d_k = kv_lora_rank + qk_rope_head_dim, d_v = 0, the whole of it on every rank
  std::int64_t head_k = 0;  // MLA: of one head, once prefill has unfolded the latent
  std::int64_t head_v = 0;
  bool shares_kv = false;        // reads what an earlier layer keeps, keeps nothing itself
  std::int64_t stride = 1;       // tokens that one kept entry stands for (compressed attention)
  std::int64_t index_bytes = 0;  // of an indexer's key, an entry, in its own format and whole on every rank

  RecurrentState state;  // of a recurrent layer, and of attention that compresses

  WeightCount weights;  // of one layer: projections, their biases and the norms beside them

  [[nodiscard]] std::int64_t layers() const { return static_cast<std::int64_t>(where.size()); }
  [[nodiscard]] bool attends() const { return kind != LayerKind::recurrent; }
};

struct MlpGroup {
  std::vector<std::int32_t> where;
  std::int64_t intermediate_size = 0;         // of the MLP, or of one routed expert
  std::int64_t experts = 0;                   // routed; 0 = dense
  std::int64_t experts_per_token = 0;         // routed
  std::int64_t shared_intermediate_size = 0;  // of all experts that every token visits, together
  bool gated = true;                          // gate and up beside down: three matrices instead of two
  std::int64_t expert_hidden_size = 0;        // width at which experts work, where it is not hidden_size

  WeightCount weights;              // of one layer without its routed experts: MLP or shared experts, router, biases
  std::int64_t expert_weights = 0;  // of one layer's routed experts; split over all ranks

  [[nodiscard]] std::int64_t layers() const { return static_cast<std::int64_t>(where.size()); }
  [[nodiscard]] bool is_moe() const { return experts > 0; }
};

// 0, 1, ... layers - 1.
[[nodiscard]] std::vector<std::int32_t> all_layers(std::int64_t layers);

}  // namespace blockyard::model
