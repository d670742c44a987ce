#include "sim/model/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/base/stable_order.h"
#include "sim/model/families/families.h"
#include "sim/model/families/parts.h"
#include "sim/model/hf_fields.h"
#include "sim/model/hf_quantization.h"

namespace blockyard::model {
namespace {

using nlohmann::json;

// Where multimodal files keep their language model, outermost first.
constexpr std::array kNested{"thinker_config", "text_config", "language_config", "llm_config"};
// What is beside it and is not counted.
constexpr std::array kTowers{"vision_config", "audio_config", "vit_config", "img_processor"};

json parsed(std::string_view text, const std::string& file) {
  json object;
  try {
    object = json::parse(text);
  } catch (const json::exception& error) {
    const auto* parse_error = dynamic_cast<const json::parse_error*>(&error);
    const std::size_t byte = parse_error != nullptr && parse_error->byte > 0 ? parse_error->byte - 1 : 0;
    throw InputError(place_of_byte(text, byte, file), "not JSON: a config.json was expected");
  }
  if (object.is_object()) return object;
  throw InputError(Place{file, 1, 1}, fmt::format("found {} {}, expected an object with the fields of a config.json",
                                                  object.is_array() ? "an" : "a", object.type_name()));
}

const Architecture* architecture_of(const json& object, HfFields& fields) {
  std::string found;
  const char* key = "architectures";
  if (fields.has(key)) {
    const json& list = object[key];
    if (!list.is_array() || list.empty() || !list[0].is_string()) {
      fields.complain(key, fmt::format("{}: expected a list of names", key));
      return nullptr;
    }
    found = list[0].get<std::string>();
  } else {
    key = "model_type";
    const std::optional<std::string> type = fields.text(key);
    if (!type) {
      if (!fields.has(key))
        fields.complain("architectures", "architectures: missing, and no model_type: which architecture is it?");
      return nullptr;
    }
    found = *type;
  }
  std::vector<std::string> known;
  for (const Architecture& a : architectures()) {
    if (found == a.name || found == a.model_type) return &a;
    known.emplace_back(std::string_view(key) == "model_type" ? a.model_type : a.name);
  }
  fields.complain(
      key, fmt::format("{}: \"{}\" is not known: which of its layers keep what is missing here{}; known are {}", key,
                       found, did_you_mean(found, known), fmt::join(known, ", ")));
  return nullptr;
}

// Multimodal files leave out of text_config what equals the defaults of its class.
void add_class_defaults(json& text) {
  const auto type = text.find("model_type");
  if (type == text.end() || !type->is_string()) return;
  static const json llama = {{"hidden_size", 4096},     {"intermediate_size", 11008},
                             {"num_hidden_layers", 32}, {"num_attention_heads", 32},
                             {"vocab_size", 32000},     {"max_position_embeddings", 2048}};
  static const json gemma3 = {{"hidden_size", 2304},      {"intermediate_size", 9216},
                              {"num_hidden_layers", 26},  {"num_attention_heads", 8},
                              {"num_key_value_heads", 4}, {"head_dim", 256},
                              {"vocab_size", 262208},     {"max_position_embeddings", 131072},
                              {"sliding_window", 4096},   {"sliding_window_pattern", 6}};
  const std::string& name = type->get_ref<const std::string&>();
  const json* defaults = name == "llama" ? &llama : name == "gemma3_text" ? &gemma3 : nullptr;
  if (defaults == nullptr) return;
  for (const auto& [key, value] : defaults->items()) {
    if (!text.contains(key)) text[key] = value;
  }
}

// The object that describes the language model. What it lacks is looked for outside of it.
json language_model(const json& object) {
  json inner = object;
  for (const char* key : kNested) {
    const auto found = inner.find(key);
    if (found == inner.end() || !found->is_object()) continue;
    json nested = *found;
    if (key != std::string_view("thinker_config")) add_class_defaults(nested);
    for (const char* shared : {"torch_dtype", "dtype", "tie_word_embeddings", "quantization_config"}) {
      if (!nested.contains(shared) && inner.contains(shared)) nested[shared] = inner[shared];
    }
    inner = nested;
  }
  return inner;
}

void read_type(HfFields& fields, ModelSpec& spec) {
  const char* key = fields.has("dtype") ? "dtype" : "torch_dtype";
  const std::optional<std::string> name = fields.text(key);
  if (!name) {
    if (!fields.has(key)) fields.complain(key, "torch_dtype: missing, expected the number format of the weights");
    return;
  }
  const std::optional<ElementType> type = element_type(*name);
  if (type) {
    spec.dtype = *type;
    return;
  }
  std::vector<std::string> known{"float32"};
  for (const NameDoc& doc : element_types()) known.push_back(doc.name);
  fields.complain(key, fmt::format("{}: \"{}\" is not known, expected bfloat16, float16 or one of {}", key, *name,
                                   fmt::join(known, ", ")));
}

// In the order of the file.
void throw_sorted(const Diagnostics& diagnostics) {
  if (diagnostics.empty()) return;
  std::vector<Diagnostic> list = diagnostics.list();
  sort_keeping_ties(list, [](const Diagnostic& d) { return d.place.line; });
  throw InputError(std::move(list));
}

// A window that no sequence outgrows is none.
void drop_idle_windows(ModelSpec& spec) {
  for (LayerGroup& group : spec.layers) {
    if (group.kind != LayerKind::sliding_window || group.window < Tokens(spec.max_position_embeddings)) continue;
    group.kind = LayerKind::full_attention;
    group.window = Tokens(0);
  }
  if (spec.sliding_window >= spec.max_position_embeddings) spec.sliding_window = 0;
}

}  // namespace

ModelSpec model_from_hf_json(std::string_view text, const std::string& name, const std::string& file) {
  const json object = parsed(text, file);
  Diagnostics diagnostics;
  HfFields whole(object, text, file, diagnostics);
  const Architecture* architecture = architecture_of(object, whole);
  diagnostics.throw_if_any();  // without an architecture no field has a meaning

  ModelSpec spec;
  spec.name = name;
  spec.source = whole.text("_source").value_or(file);
  const json inner = language_model(object);
  HfFields fields(inner, text, file, diagnostics);
  read_type(fields, spec);
  read_quantization(fields, spec);
  architecture->compile(fields, *architecture, spec);
  throw_sorted(diagnostics);
  drop_idle_windows(spec);
  describe_usual(spec);
  for (const char* tower : kTowers) {
    if (whole.has(tower)) spec.not_counted.push_back(fmt::format("weights of {}", tower));
  }
  check(spec, Place{file, 0, 0}, diagnostics);
  diagnostics.throw_if_any();
  return spec;
}

}  // namespace blockyard::model
