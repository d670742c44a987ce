// Hugging Face config.json -> ModelSpec: the architecture's name picks a family (families/families.h), which reads its
// fields into groups of layers. The language model of a multimodal file is found in text_config and its likes: the
// architecture it names comes before that of the whole; towers for images and sound are named in
// ModelSpec::not_counted. An unknown architecture, a layer type or a quantisation that is not known, a missing or
// absurd field: an InputError that lists every fault; nothing is guessed but what the format itself, or the engine that
// reads it, defines as a default: 32-bit weights, and those of no stated type, are kept in 16 bits; rope_scaling
// stretches max_position_embeddings (vLLM, config.py).
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

// What a hf_quant_config.json, which ModelOpt writes beside a config.json, adds to it: formats of weights and KV,
// unless the config.json has a quantization_config of its own.
void add_hf_quant_config(std::string_view text, const std::string& file, ModelSpec& spec);

}  // namespace blockyard::model
