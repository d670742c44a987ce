#include "sim/model/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "sim/base/diagnostics.h"

namespace blockyard::model {
namespace {

using nlohmann::json;

enum class Family { llama, mistral, qwen2, qwen3, mixtral, opt };

struct Architecture {
  const char* name;        // in `architectures`
  const char* model_type;  // in `model_type`
  Family family;
};
constexpr std::array kArchitectures{
    Architecture{"LlamaForCausalLM", "llama", Family::llama},
    Architecture{"MistralForCausalLM", "mistral", Family::mistral},
    Architecture{"Qwen2ForCausalLM", "qwen2", Family::qwen2},
    Architecture{"Qwen3ForCausalLM", "qwen3", Family::qwen3},
    Architecture{"MixtralForCausalLM", "mixtral", Family::mixtral},
    Architecture{"OPTForCausalLM", "opt", Family::opt},
};

Place place_of_byte(std::string_view text, std::size_t byte, const std::string& file) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 = 0
  return {file, static_cast<int>(line), static_cast<int>(before.size() - line_start) + 1};
}

// Reads fields of one object and collects what is wrong with them.
class Fields {
 public:
  Fields(const json& object, std::string_view text, const std::string& file, Diagnostics& diagnostics)
      : object_(object), text_(text), file_(file), diagnostics_(diagnostics) {}

  [[nodiscard]] bool has(const char* key) const { return object_.contains(key) && !object_[key].is_null(); }

  [[nodiscard]] std::int64_t integer(const char* key) {
    if (has(key)) return integer(key, 0);
    complain(key, fmt::format("{}: missing, expected an integer", key));
    return 0;
  }
  [[nodiscard]] std::int64_t integer(const char* key, std::int64_t absent) {
    if (!has(key)) return absent;
    const json& value = object_[key];
    const double number = value.is_number() ? value.get<double>() : 0;
    if (value.is_number_integer() && number >= 1 && number <= 1e9) return value.get<std::int64_t>();
    complain(key, fmt::format("{}: found {}, expected an integer from 1 to 1000000000", key, value.dump()));
    return absent;
  }
  [[nodiscard]] bool boolean(const char* key, bool absent) {
    if (!has(key)) return absent;
    if (object_[key].is_boolean()) return object_[key].get<bool>();
    complain(key, fmt::format("{}: found {}, expected true or false", key, object_[key].dump()));
    return absent;
  }
  [[nodiscard]] std::optional<std::string> text(const char* key) {
    if (!has(key)) return std::nullopt;
    if (object_[key].is_string()) return object_[key].get<std::string>();
    complain(key, fmt::format("{}: found {}, expected a string", key, object_[key].dump()));
    return std::nullopt;
  }
  void complain(const char* key, std::string message) { diagnostics_.add(place(key), std::move(message)); }

 private:
  [[nodiscard]] Place place(const char* key) const {
    const std::size_t found = text_.find(fmt::format("\"{}\"", key));
    return found == std::string_view::npos ? Place{file_, 0, 0} : place_of_byte(text_, found, file_);
  }

  const json& object_;
  std::string_view text_;
  const std::string& file_;
  Diagnostics& diagnostics_;
};

std::optional<Family> family_of(const json& object, Fields& fields) {
  std::string found;
  const char* key = "architectures";
  if (fields.has(key)) {
    const json& list = object[key];
    if (!list.is_array() || list.empty() || !list[0].is_string()) {
      fields.complain(key, fmt::format("{}: found {}, expected a list of names", key, list.dump()));
      return std::nullopt;
    }
    found = list[0].get<std::string>();
  } else {
    key = "model_type";
    const std::optional<std::string> type = fields.text(key);
    if (!type) {
      if (!fields.has(key))
        fields.complain("architectures", "architectures: missing, and no model_type: which architecture is it?");
      return std::nullopt;
    }
    found = *type;
  }
  std::vector<std::string> known;
  for (const Architecture& a : kArchitectures) {
    if (found == a.name || found == a.model_type) return a.family;
    known.emplace_back(std::string_view(key) == "model_type" ? a.model_type : a.name);
  }
  fields.complain(key, fmt::format("{}: \"{}\" is not known, expected one of {}{}", key, found, fmt::join(known, ", "),
                                   did_you_mean(found, known)));
  return std::nullopt;
}

void read_type(Fields& fields, ModelSpec& spec) {
  const char* key = fields.has("dtype") ? "dtype" : "torch_dtype";
  if (!fields.has(key)) {
    fields.complain(key, "torch_dtype: missing, expected the number format of the weights");
  } else if (const std::optional<std::string> name = fields.text(key)) {
    const std::optional<ElementType> type = element_type(*name);
    if (type) {
      spec.dtype = *type;
    } else {
      std::vector<std::string> known{"float32"};
      for (const NameDoc& doc : element_types()) known.push_back(doc.name);
      fields.complain(key, fmt::format("{}: \"{}\" is not known, expected bfloat16, float16 or one of {}", key, *name,
                                       fmt::join(known, ", ")));
    }
  }
  if (fields.has("quantization_config")) {
    fields.complain("quantization_config",
                    "quantization_config: quantised weights are not supported; describe the model before "
                    "quantisation, or write a model file with the dtype of the weights");
  }
}

void read_sizes(Fields& fields, Family family, ModelSpec& spec) {
  spec.num_hidden_layers = fields.integer("num_hidden_layers");
  spec.hidden_size = fields.integer("hidden_size");
  spec.intermediate_size = fields.integer(family == Family::opt ? "ffn_dim" : "intermediate_size");
  spec.num_attention_heads = fields.integer("num_attention_heads");
  spec.num_key_value_heads = fields.integer("num_key_value_heads", spec.num_attention_heads);
  spec.vocab_size = fields.integer("vocab_size");
  spec.max_position_embeddings = fields.integer("max_position_embeddings");
  if (fields.has("head_dim")) {
    spec.head_dim = fields.integer("head_dim", 1);
  } else if (spec.num_attention_heads > 0 && spec.hidden_size > 0) {
    spec.head_dim = spec.hidden_size / spec.num_attention_heads;
    if (spec.hidden_size % spec.num_attention_heads != 0) {
      fields.complain("num_attention_heads",
                      fmt::format("num_attention_heads: {} does not divide hidden_size {}, and there is "
                                  "no head_dim",
                                  spec.num_attention_heads, spec.hidden_size));
    }
  }
}

void read_family(Fields& fields, Family family, ModelSpec& spec) {
  switch (family) {
    case Family::llama:
      spec.attention_bias = fields.boolean("attention_bias", false);
      spec.attention_output_bias = spec.attention_bias;
      spec.mlp_bias = fields.boolean("mlp_bias", false);
      break;
    case Family::mistral:
      spec.sliding_window = fields.integer("sliding_window", 0);
      break;
    case Family::mixtral:
      spec.sliding_window = fields.integer("sliding_window", 0);
      spec.num_experts = fields.integer("num_local_experts");
      spec.experts_per_token = fields.integer("num_experts_per_tok");
      break;
    case Family::qwen3:
      spec.attention_bias = fields.boolean("attention_bias", false);
      spec.attention_output_bias = spec.attention_bias;
      spec.qk_norm = true;
      break;
    case Family::qwen2:
      spec.attention_bias = true;
      break;
    case Family::opt:
      spec.gated_mlp = false;
      spec.norm_bias = fields.boolean("layer_norm_elementwise_affine", true);
      spec.attention_bias = fields.boolean("enable_bias", true);
      spec.attention_output_bias = spec.attention_bias;
      spec.mlp_bias = spec.attention_bias;
      spec.learned_position_embeddings = spec.max_position_embeddings + 2;
      if (fields.integer("word_embed_proj_dim", spec.hidden_size) != spec.hidden_size) {
        fields.complain("word_embed_proj_dim", "word_embed_proj_dim: differs from hidden_size, which is not supported");
      }
      break;
  }
  // A window on some layers only: use_sliding_window true, from layer max_window_layers on.
  if ((family == Family::qwen2 || family == Family::qwen3) && fields.boolean("use_sliding_window", false)) {
    fields.complain("use_sliding_window", "use_sliding_window: true is not supported for this architecture");
  }
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", family == Family::opt);
}

}  // namespace

ModelSpec model_from_hf_json(std::string_view text, const std::string& name, const std::string& file) {
  json object;
  try {
    object = json::parse(text);
  } catch (const json::parse_error& error) {
    throw InputError(place_of_byte(text, error.byte > 0 ? error.byte - 1 : 0, file),
                     "not JSON: a config.json was expected");
  }
  if (!object.is_object()) {
    throw InputError(Place{file, 1, 1}, fmt::format("found {} {}, expected an object with the fields of a config.json",
                                                    object.is_array() ? "an" : "a", object.type_name()));
  }

  Diagnostics diagnostics;
  Fields fields(object, text, file, diagnostics);
  const std::optional<Family> family = family_of(object, fields);
  diagnostics.throw_if_any();  // without a family no field has a meaning

  ModelSpec spec;
  spec.name = name;
  spec.source = file;
  read_type(fields, spec);
  read_sizes(fields, *family, spec);
  read_family(fields, *family, spec);
  diagnostics.throw_if_any();
  check(spec, Place{file, 0, 0}, diagnostics);
  diagnostics.throw_if_any();
  return spec;
}

}  // namespace blockyard::model
