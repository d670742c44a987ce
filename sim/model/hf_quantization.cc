#include "sim/model/hf_quantization.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blockyard::model {
namespace {

constexpr double kScaleBytes = 2;

// An integer of `bits` with a 16-bit scale and a zero point of `bits` for each group; -1 or 0: a group is a row.
double grouped_bytes(std::int64_t bits, std::int64_t group) {
  const double each = static_cast<double>(bits) / 8;
  return group > 0 ? each + (kScaleBytes + each) / static_cast<double>(group) : each;
}

void keep(HfFields& config, std::string_view key, Quantization& q) {
  if (!config.is_list(key)) return;
  for (std::string& name : config.texts(key)) q.kept.push_back(std::move(name));
}

std::int64_t bits_of(HfFields& config, std::string_view key, std::int64_t absent) {
  const std::int64_t bits = config.integer(key, absent);
  if (bits == 2 || bits == 3 || bits == 4 || bits == 8) return bits;
  config.complain(key, fmt::format("{}: found {}, expected 2, 3, 4 or 8", key, bits));
  return 8;
}

std::int64_t group_of(HfFields& config) {
  return config.is_negative("group_size") ? 0 : config.count("group_size", 128);
}

// kv_cache_scheme of compressed-tensors and of ModelOpt.
void read_kv_scheme(HfFields& config, ModelSpec& spec) {
  std::optional<HfFields> kv = config.object("kv_cache_scheme");
  if (!kv) return;
  const std::int64_t bits = kv->integer("num_bits", 8);
  const bool whole = kv->is_text("type", "int");
  if (bits == 8) {
    spec.kv_dtype = whole ? ElementType::int8 : ElementType::fp8;
  } else if (bits == 4) {
    spec.kv_dtype = whole ? ElementType::int4 : ElementType::nvfp4;
  } else {
    kv->complain("num_bits", fmt::format("kv_cache_scheme: found {} bits, expected 4 or 8", bits));
  }
}

// Weights of one group of modules of compressed-tensors. Four-bit floats have an 8-bit scale a group of 16 (NVFP4) or
// 32 (MXFP4); eight bits have scales of a tensor, a row or a large block, and of a group only where they say so.
double compressed_bytes(HfFields& weights) {
  const std::int64_t bits = bits_of(weights, "num_bits", 8);
  const bool floating = weights.is_text("type", "float");
  const std::int64_t group = weights.has("group_size") ? group_of(weights) : 0;
  if (bits == 4 && floating) return 0.5 + 1 / static_cast<double>(group > 0 ? group : 16);
  if (floating && group > 0) return 1 + 1 / static_cast<double>(group);
  if (bits == 8) return grouped_bytes(8, group);
  return grouped_bytes(bits, weights.has("group_size") ? group : 128);
}

std::optional<ElementType> compressed_activations(HfFields& group) {
  std::optional<HfFields> inputs = group.object("input_activations");
  if (!inputs) return std::nullopt;
  const bool floating = inputs->is_text("type", "float");
  if (inputs->integer("num_bits", 8) == 4) return floating ? std::optional(ElementType::nvfp4) : std::nullopt;
  return floating ? ElementType::fp8 : ElementType::int8;
}

void read_compressed(HfFields& config, ModelSpec& spec, Quantization& q) {
  std::optional<double> bytes;
  for (HfFields& group : config.members("config_groups")) {
    std::optional<HfFields> weights = group.object("weights");
    if (!weights) continue;
    const double these = compressed_bytes(*weights);
    q.activations = compressed_activations(group);
    if (bytes && *bytes != these) {
      config.complain("config_groups",
                      "config_groups: groups of different bits: which weights are in which is missing here");
      return;
    }
    bytes = these;
  }
  if (!bytes) {
    config.complain("config_groups", "config_groups: a group with weights is missing: their bits are not known");
    return;
  }
  q.bytes_per_weight = *bytes;
  keep(config, "ignore", q);
  read_kv_scheme(config, spec);
}

struct Algorithm {
  std::string_view name;
  ElementType weights;
};
constexpr std::array kModelOpt{
    Algorithm{"FP8", ElementType::fp8},         Algorithm{"FP8_PER_CHANNEL_PER_TOKEN", ElementType::fp8},
    Algorithm{"FP8_PB_WO", ElementType::fp8},   Algorithm{"NVFP4", ElementType::nvfp4},
    Algorithm{"NVFP4_AWQ", ElementType::nvfp4}, Algorithm{"W4A16_AWQ", ElementType::int4},
    Algorithm{"W4A8_AWQ", ElementType::int4}};

void read_modelopt_kv(HfFields& config, ModelSpec& spec) {
  read_kv_scheme(config, spec);
  const std::optional<std::string> name = config.text("kv_cache_quant_algo");
  if (!name) return;
  if (*name == "FP8") {
    spec.kv_dtype = ElementType::fp8;
  } else if (*name == "NVFP4") {
    spec.kv_dtype = ElementType::nvfp4;
  } else if (*name == "INT8") {
    spec.kv_dtype = ElementType::int8;
  } else {
    config.complain("kv_cache_quant_algo",
                    fmt::format("kv_cache_quant_algo: \"{}\" is not known, expected FP8, NVFP4 or INT8", *name));
  }
}

// ModelOpt's fields, which stand in an object of their own in a hf_quant_config.json.
void read_modelopt_fields(HfFields& config, const char* absent, ModelSpec& spec) {
  read_modelopt_kv(config, spec);
  const std::string name = config.text("quant_algo").value_or(absent);
  if (name.empty()) return;  // the KV cache alone
  Quantization q;
  q.method = "modelopt";
  std::vector<std::string_view> known;
  const Algorithm* found = nullptr;
  for (const Algorithm& algorithm : kModelOpt) {
    known.push_back(algorithm.name);
    if (algorithm.name == name) found = &algorithm;
  }
  if (found == nullptr) {
    config.complain("quant_algo", fmt::format("quant_algo: \"{}\" is not known: the bytes of its weights are missing "
                                              "here; expected {}",
                                              name, fmt::join(known, ", ")));
    return;
  }
  q.bytes_per_weight =
      found->weights == ElementType::int4 ? grouped_bytes(4, group_of(config)) : bytes_per_element(found->weights);
  if (found->weights != ElementType::int4) q.activations = found->weights;
  keep(config, "ignore", q);
  keep(config, "exclude_modules", q);
  spec.quantization = std::move(q);
}

}  // namespace

void read_modelopt(HfFields& config, ModelSpec& spec) {
  const char* absent = config.is_text("quant_method", "modelopt_fp4") ? "NVFP4"
                       : config.has("quant_method")                   ? "FP8"
                                                                      : "";
  if (std::optional<HfFields> inner = config.object("quantization")) {
    read_modelopt_fields(*inner, absent, spec);
  } else {
    read_modelopt_fields(config, absent, spec);
  }
}

void read_quantization(HfFields& fields, ModelSpec& spec) {
  std::optional<HfFields> found = fields.object("quantization_config");
  if (!found) return;
  HfFields& config = *found;
  Quantization q;
  q.method = config.text("quant_method").value_or(config.has("quantization") ? "modelopt" : "");
  if (q.method.starts_with("modelopt")) {
    read_modelopt(config, spec);
    return;
  }
  if (q.method == "gptq" || q.method == "awq" || q.method == "auto-round" || q.method == "intel/auto-round") {
    q.bytes_per_weight = grouped_bytes(bits_of(config, config.has("bits") ? "bits" : "w_bit", 4), group_of(config));
    keep(config, "modules_to_not_convert", q);
    q.output_head = config.boolean("lm_head", false);
  } else if (q.method == "fp8" || q.method == "fbgemm_fp8" || q.method == "experts_int8") {
    q.bytes_per_weight = 1;
    q.experts_only = q.method == "experts_int8";
    if (!q.experts_only) q.activations = ElementType::fp8;
    keep(config, "modules_to_not_convert", q);
    keep(config, "ignored_layers", q);
  } else if (q.method == "mxfp4") {
    q.bytes_per_weight = bytes_per_element(ElementType::mxfp4);
    q.experts_only = true;
  } else if (q.method == "bitsandbytes") {
    const bool four = config.boolean("load_in_4bit", false);
    q.bytes_per_weight = four ? 0.5 + 4.0 / 64 : 1;  // nf4: a 32-bit scale for 64 elements
    if (config.boolean("bnb_4bit_use_double_quant", false)) q.bytes_per_weight = 0.5 + 1.0 / 64 + 4.0 / 256 / 64;
    keep(config, "llm_int8_skip_modules", q);
  } else if (q.method == "compressed-tensors") {
    read_compressed(config, spec, q);
  } else {
    fields.complain("quantization_config",
                    fmt::format("quantization_config: quant_method \"{}\" is not known: the bytes of its weights are "
                                "missing here; expected gptq, awq, auto-round, fp8, fbgemm_fp8, mxfp4, bitsandbytes, "
                                "compressed-tensors, modelopt or experts_int8",
                                q.method));
    return;
  }
  spec.quantization = std::move(q);
}

}  // namespace blockyard::model
