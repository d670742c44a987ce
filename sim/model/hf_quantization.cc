#include "sim/model/hf_quantization.h"

#include <fmt/format.h>

#include <string>
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

// Bits and groups of the weights of compressed-tensors: those of its only group of modules.
void read_compressed(HfFields& config, ModelSpec& spec, Quantization& q) {
  std::optional<HfFields> groups = config.object("config_groups");
  std::optional<HfFields> first = groups ? groups->object("group_0") : std::nullopt;
  std::optional<HfFields> weights = first ? first->object("weights") : std::nullopt;
  if (!weights) {
    config.complain("config_groups", "config_groups: group_0 with weights is missing: their bits are not known");
    return;
  }
  const std::int64_t bits = bits_of(*weights, "num_bits", 8);
  const bool floating = weights->is_text("type", "float");
  if (bits == 4 && floating) {
    q.bytes_per_weight = bytes_per_element(ElementType::nvfp4);
  } else if (bits == 8) {
    q.bytes_per_weight = 1;
  } else {
    q.bytes_per_weight = grouped_bytes(bits, group_of(*weights));
  }
  keep(config, "ignore", q);
  if (std::optional<HfFields> kv = config.object("kv_cache_scheme")) {
    const bool eight = kv->integer("num_bits", 8) == 8;
    if (eight) spec.kv_dtype = kv->is_text("type", "int") ? ElementType::int8 : ElementType::fp8;
  }
}

}  // namespace

void read_quantization(HfFields& fields, ModelSpec& spec) {
  std::optional<HfFields> found = fields.object("quantization_config");
  if (!found) return;
  HfFields& config = *found;
  Quantization q;
  q.method = config.text("quant_method").value_or("");
  if (q.method == "gptq" || q.method == "awq" || q.method == "auto-round" || q.method == "intel/auto-round") {
    q.bytes_per_weight = grouped_bytes(bits_of(config, config.has("bits") ? "bits" : "w_bit", 4), group_of(config));
    keep(config, "modules_to_not_convert", q);
    q.output_head = config.boolean("lm_head", false);
  } else if (q.method == "fp8" || q.method == "fbgemm_fp8" || q.method == "experts_int8") {
    q.bytes_per_weight = 1;
    q.experts_only = q.method == "experts_int8";
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
  } else if (q.method == "modelopt" || q.method == "modelopt_fp4") {
    const std::string algorithm = config.text("quant_algo").value_or(q.method == "modelopt_fp4" ? "NVFP4" : "FP8");
    if (algorithm != "FP8" && algorithm != "NVFP4") {
      config.complain("quant_algo", fmt::format("quant_algo: \"{}\" is not known, expected FP8 or NVFP4", algorithm));
    }
    q.bytes_per_weight = algorithm == "NVFP4" ? bytes_per_element(ElementType::nvfp4) : 1;
    keep(config, "ignore", q);
    keep(config, "exclude_modules", q);
    if (config.is_text("kv_cache_quant_algo", "FP8")) spec.kv_dtype = ElementType::fp8;
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
