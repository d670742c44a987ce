// Models with published sizes, as their config.json files give them.
#pragma once

#include <vector>

#include "sim/model/model_spec.h"

namespace blockyard::model {

struct Shape {
  const char* name;
  std::int64_t layers, hidden, intermediate, heads, kv_heads, head_dim, vocab, positions;
};

inline ModelSpec decoder(const Shape& s) {
  ModelSpec m;
  m.name = s.name;
  m.num_hidden_layers = s.layers;
  m.hidden_size = s.hidden;
  m.intermediate_size = s.intermediate;
  m.num_attention_heads = s.heads;
  m.num_key_value_heads = s.kv_heads;
  m.head_dim = s.head_dim;
  m.vocab_size = s.vocab;
  m.max_position_embeddings = s.positions;
  return m;
}

inline ModelSpec llama_2_7b() { return decoder({"llama-2-7b", 32, 4096, 11008, 32, 32, 128, 32000, 4096}); }
inline ModelSpec llama_2_70b() { return decoder({"llama-2-70b", 80, 8192, 28672, 64, 8, 128, 32000, 4096}); }
inline ModelSpec llama_3_8b() { return decoder({"llama-3-8b", 32, 4096, 14336, 32, 8, 128, 128256, 8192}); }
inline ModelSpec llama_3_70b() { return decoder({"llama-3-70b", 80, 8192, 28672, 64, 8, 128, 128256, 8192}); }
inline ModelSpec codellama_34b() { return decoder({"codellama-34b", 48, 8192, 22016, 64, 8, 128, 32000, 16384}); }
inline ModelSpec mistral_nemo_12b() {
  return decoder({"mistral-nemo-12b", 40, 5120, 14336, 32, 8, 128, 131072, 131072});
}

inline ModelSpec qwen2_5_7b() {
  ModelSpec m = decoder({"qwen2.5-7b", 28, 3584, 18944, 28, 4, 128, 152064, 131072});
  m.attention_bias = true;
  return m;
}

inline ModelSpec qwen3_32b() {
  ModelSpec m = decoder({"qwen3-32b", 64, 5120, 25600, 64, 8, 128, 151936, 40960});
  m.qk_norm = true;
  return m;
}

inline ModelSpec mixtral_8x7b() {
  ModelSpec m = decoder({"mixtral-8x7b", 32, 4096, 14336, 32, 8, 128, 32000, 32768});
  m.num_experts = 8;
  m.experts_per_token = 2;
  return m;
}

inline ModelSpec opt_13b() {
  ModelSpec m = decoder({"opt-13b", 40, 5120, 20480, 40, 40, 128, 50272, 2048});
  m.tie_word_embeddings = true;
  m.gated_mlp = false;
  m.norm_bias = m.attention_bias = m.attention_output_bias = m.mlp_bias = true;
  m.learned_position_embeddings = 2050;
  m.dtype = ElementType::fp16;
  return m;
}

}  // namespace blockyard::model
