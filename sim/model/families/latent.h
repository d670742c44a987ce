// Multi-head latent attention: a layer keeps one latent of kv_lora_rank elements and one rotary key a token, whatever
// the number of heads. Source: DeepSeek-V2 (arXiv 2405.04434), section 2.1.
#pragma once

#include "sim/model/families/parts.h"

namespace blockyard::model {

// q_lora_rank, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim and, where tokens are chosen by an indexer,
// index_head_dim and index_n_heads.
[[nodiscard]] LayerGroup latent_group(HfFields& fields, const ModelSpec& spec, std::vector<std::int32_t> where);

}  // namespace blockyard::model
