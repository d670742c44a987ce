// Hugging Face config.json -> ModelSpec, for the families llama, mistral, qwen2, qwen3, mixtral and opt. A missing or
// absurd field, and an architecture that is none of these, is an InputError that lists every fault; nothing is guessed
// but what the format itself defines as the default (kv heads = heads, head_dim = hidden_size / heads, a family's
// tie_word_embeddings).
#pragma once

#include <string>
#include <string_view>

#include "sim/model/model_spec.h"

namespace blockyard::model {

// `name` names the model, `file` the place in error messages.
[[nodiscard]] ModelSpec model_from_hf_json(std::string_view text, const std::string& name, const std::string& file);
[[nodiscard]] inline ModelSpec model_from_hf_json(std::string_view text, const std::string& name) {
  return model_from_hf_json(text, name, name);
}

}  // namespace blockyard::model
