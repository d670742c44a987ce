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

const Architecture* known_architecture(std::string_view name) {
  for (const Architecture& a : architectures()) {
    if (name == a.name || name == a.model_type) return &a;
  }
  return nullptr;
}

// The one that the language model inside of a file names, if it is known.
const Architecture* named_inside(const json& inner) {
  const auto list = inner.find("architectures");
  if (list != inner.end() && list->is_array() && !list->empty() && list->front().is_string()) {
    if (const Architecture* found = known_architecture(list->front().get_ref<const std::string&>())) return found;
  }
  const auto type = inner.find("model_type");
  return type != inner.end() && type->is_string() ? known_architecture(type->get_ref<const std::string&>()) : nullptr;
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
  if (const Architecture* architecture = known_architecture(found)) return architecture;
  std::vector<std::string> known;
  for (const Architecture& a : architectures()) {
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
  static const json mistral = {{"hidden_size", 4096},      {"intermediate_size", 14336},
                               {"num_hidden_layers", 32},  {"num_attention_heads", 32},
                               {"num_key_value_heads", 8}, {"vocab_size", 32000},
                               {"sliding_window", 4096},   {"max_position_embeddings", 131072}};
  static const json gemma3 = {{"hidden_size", 2304},      {"intermediate_size", 9216},
                              {"num_hidden_layers", 26},  {"num_attention_heads", 8},
                              {"num_key_value_heads", 4}, {"head_dim", 256},
                              {"vocab_size", 262208},     {"max_position_embeddings", 131072},
                              {"sliding_window", 4096},   {"sliding_window_pattern", 6}};
  const std::string& name = type->get_ref<const std::string&>();
  const json* defaults = name == "llama"         ? &llama
                         : name == "mistral"     ? &mistral
                         : name == "gemma3_text" ? &gemma3
                                                 : nullptr;
  if (defaults == nullptr) return;
  for (const auto& [key, value] : defaults->items()) {
    if (!text.contains(key)) text[key] = value;
  }
}

struct LanguageModel {
  json object;
  std::size_t from = 0;  // where it stands in the text
  bool nested = false;
};

// The object that describes the language model. What it lacks is looked for outside of it.
LanguageModel language_model(const json& object, std::string_view text) {
  LanguageModel model{object};
  json& inner = model.object;
  for (const char* key : kNested) {
    const auto found = inner.find(key);
    if (found == inner.end() || !found->is_object()) continue;
    model.from = std::min(find_key(text, model.from, key).value, text.size());
    model.nested = true;
    json nested = *found;
    if (key != std::string_view("thinker_config")) add_class_defaults(nested);
    for (const char* shared : {"torch_dtype", "dtype", "tie_word_embeddings", "quantization_config"}) {
      if (!nested.contains(shared) && inner.contains(shared)) nested[shared] = inner[shared];
    }
    inner = nested;
  }
  return model;
}

void read_type(HfFields& fields, ModelSpec& spec) {
  const char* key = fields.has("dtype") ? "dtype" : "torch_dtype";
  const std::string name = fields.has(key) ? fields.text(key).value_or("float32") : "float32";
  const std::optional<ElementType> type = element_type(name);
  if (type) {
    spec.dtype = *type == ElementType::fp32 ? ElementType::fp16 : *type;
    return;
  }
  std::vector<std::string> known;
  for (const NameDoc& doc : element_types()) known.push_back(doc.name);
  fields.complain(key, fmt::format("{}: \"{}\" is not known, expected bfloat16, float16, float32 or one of {}", key,
                                   name, fmt::join(known, ", ")));
}

// Rotary positions stretched by a factor; yarn starts from its own length. Types that state the stretched length in
// max_position_embeddings already are left alone, and so is Gemma 3, which does so too.
void stretch_positions(HfFields& fields, const Architecture& architecture, ModelSpec& spec) {
  if (std::string_view(architecture.model_type).starts_with("gemma3")) return;
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    std::optional<HfFields> rope = fields.object(key);
    if (!rope) continue;
    const std::string type = rope->text(rope->has("rope_type") ? "rope_type" : "type").value_or("default");
    if (type != "linear" && type != "dynamic" && type != "yarn") continue;
    std::int64_t from = spec.max_position_embeddings;
    if (type == "yarn") from = rope->integer("original_max_position_embeddings", from);
    spec.max_position_embeddings = static_cast<std::int64_t>(static_cast<double>(from) * rope->real("factor", 1));
    return;
  }
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
  const LanguageModel language = language_model(object, text);
  const Architecture* inside = language.nested ? named_inside(language.object) : nullptr;
  const Architecture* architecture = inside != nullptr ? inside : architecture_of(object, whole);
  diagnostics.throw_if_any();  // without an architecture no field has a meaning

  ModelSpec spec;
  spec.name = name;
  spec.source = whole.text("_source").value_or(file);
  HfFields fields(language.object, text, file, diagnostics, language.from);
  read_type(fields, spec);
  read_quantization(fields, spec);
  architecture->compile(fields, *architecture, spec);
  stretch_positions(fields, *architecture, spec);
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

void add_hf_quant_config(std::string_view text, const std::string& file, ModelSpec& spec) {
  if (spec.quantization) return;
  const json object = parsed(text, file);
  Diagnostics diagnostics;
  HfFields fields(object, text, file, diagnostics);
  read_modelopt(fields, spec);
  throw_sorted(diagnostics);
}

}  // namespace blockyard::model
