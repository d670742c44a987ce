// Hugging Face config.json -> ModelSpec: the architecture's name picks a family (families/families.h), which reads its
// fields into groups of layers. The language model of a multimodal file is found in text_config and its likes; its
// towers for images and sound are named in ModelSpec::not_counted. An unknown architecture, a layer type or a
// quantisation that is not known, a missing or absurd field: an InputError that lists every fault; nothing is guessed
// but what the format itself defines as a default.
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
