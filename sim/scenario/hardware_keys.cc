#include "sim/scenario/hardware_keys.h"

#include <string>
#include <utility>
#include <vector>

namespace blockyard::scenario {
namespace {

using Keys = std::vector<Key>;

constexpr Limits kCount = between(1, 1e9);

Key count(std::string path, std::string doc, std::vector<std::string> aliases = {}) {
  return {.path = std::move(path),
          .accepts = {{Kind::integer, kCount}},
          .required_in = "",
          .doc = std::move(doc),
          .aliases = std::move(aliases)};
}

Key count_or_none(std::string path, std::string doc, std::vector<std::string> aliases = {}) {
  return {.path = std::move(path),
          .accepts = {{Kind::integer, between(0, 1e9)}},
          .fallback = "0",
          .doc = std::move(doc),
          .aliases = std::move(aliases)};
}

Key yes_no(std::string path, std::string fallback, std::string doc) {
  return {.path = std::move(path), .accepts = {Kind::boolean}, .fallback = std::move(fallback), .doc = std::move(doc)};
}

Key text(std::string path, std::string section, std::string doc) {
  return {.path = std::move(path), .accepts = {Kind::text}, .required_in = std::move(section), .doc = std::move(doc)};
}

Key efficiency(std::string name, std::string doc) {
  return {
      .path = "calibration." + std::move(name), .accepts = {{Kind::real, above_up_to(0, 2)}}, .doc = std::move(doc)};
}

Key overhead(std::string name, std::string doc) {
  return {.path = "calibration." + std::move(name), .accepts = {{Kind::time, between(0, 1)}}, .doc = std::move(doc)};
}

Keys calibration_keys() {
  const std::string section = "calibration";
  Keys keys{
      text("calibration.source", section, "what was measured, by whom"),
      text("calibration.error", section, "how far the fit is from which data"),
      yes_no("calibration.generic", "false", "constants of no particular GPU, for want of data"),
      efficiency("compute_efficiency", "ec: share of the peak FLOP/s that a GEMM reaches"),
      efficiency("memory_efficiency", "em: share of the peak bandwidth"),
      overhead("kernel_overhead", "t0: fixed time of a kernel"),
      {.path = "calibration.soft_max_exponent",
       .accepts = {{Kind::real, between(1, 100)}},
       .words = {{"max", "the larger of compute and memory time"}},
       .required_in = section,
       .doc = "p: how compute and memory time join, (c^p + m^p)^(1/p)"},
      yes_no("calibration.tile_rounding", "false",
             "rows count as whole tiles: 64 up to 64, then multiples of 128 (8 bits and less: of 64)"),
      {.path = "calibration.attention_form",
       .words = {{"as_gemm", "attention obeys the GEMMs' constants: a fit of whole layers"},
                 {"own", "attention has constants of its own"}},
       .required_in = section,
       .doc = "which constants attention takes; those fitted together go together"},
      efficiency("decode_memory_efficiency", "ea_d: share of the peak bandwidth that decode attention reaches"),
      overhead("decode_overhead", "ta of decode attention"),
      efficiency("prefill_compute_efficiency", "ea_p: share of the peak FLOP/s that prefill attention reaches"),
      {.path = "calibration.prefill_memory_efficiency",
       .accepts = {{Kind::real, above_up_to(0, 2)}},
       .words = {{"none", "no such term"}},
       .fallback = "none",
       .doc = "eb_p: share of the peak bandwidth in prefill attention"},
      overhead("prefill_overhead", "ta of prefill attention"),
      {.path = "calibration.elementwise_form",
       .words = {{"fused", "four kernels a layer, put together by a compiler"},
                 {"separate", "six kernels a layer with the GEMMs' constants"}},
       .required_in = section,
       .doc = "norms, rotary embedding, activation and residual additions"},
      overhead("elementwise_overhead", "te: fixed time of one of four fused elementwise kernels"),
      overhead("sampler_overhead", "fixed time of the sampler, beside the bytes of the logits"),
      yes_no("calibration.prefill_occupancy", "false", "SMs that a small chunk leaves idle are counted apart"),
      {.path = "calibration.mixed_decode_factor",
       .accepts = {{Kind::real, above_up_to(0, 100)}},
       .words = {{"none", "as without a chunk"}},
       .fallback = "none",
       .doc = "mix: beside a chunk, decodes reach mix / (query heads a KV head) of the bandwidth"},
      {.path = "calibration.stream_bandwidth",
       .accepts = {{Kind::bandwidth, at_least(1e6)}},
       .words = {{"none", "no such limit"}},
       .fallback = "none",
       .doc = "what one SM reads by itself of the KV of one head, where FlashAttention-2 does not split a sequence"},
  };
  for (const char* name : {"compute_efficiency", "memory_efficiency", "kernel_overhead"}) {
    for (Key& key : keys) {
      if (key.path == section + "." + name) key.required_in = section;
    }
  }
  const std::string fp8 = section + ".fp8";
  keys.push_back({.path = fp8 + ".compute_efficiency",
                  .accepts = {{Kind::real, above_up_to(0, 2)}},
                  .required_in = fp8,
                  .doc = "share of the fp8 peak that a GEMM of fp8 weights reaches"});
  keys.push_back({.path = fp8 + ".memory_efficiency",
                  .accepts = {{Kind::real, above_up_to(0, 2)}},
                  .required_in = fp8,
                  .doc = "share of the peak bandwidth"});
  keys.push_back({.path = fp8 + ".kernel_overhead",
                  .accepts = {{Kind::time, between(0, 1)}},
                  .required_in = fp8,
                  .doc = "fixed time, the quantisation of the activations included"});
  for (const char* inner_path : {".all_reduce.2", ".all_reduce.4", ".all_reduce.8", ".all_reduce_eager.2",
                                 ".all_reduce_eager.4", ".all_reduce_eager.8"}) {
    const std::string inner = section + inner_path;
    keys.push_back({.path = inner + ".latency",
                    .accepts = {{Kind::time, between(0, 1)}},
                    .required_in = inner,
                    .doc = "fixed time of an all-reduce over so many GPUs"});
    keys.push_back({.path = inner + ".bus_bandwidth",
                    .accepts = {{Kind::bandwidth, at_least(1e6)}},
                    .required_in = inner,
                    .doc = "2 (n - 1) / n x bytes / this is the rest of its time"});
    keys.push_back({.path = inner + ".one_shot_limit",
                    .accepts = {{Kind::bytes, between(0, 1e9)}},
                    .fallback = "0 B",
                    .doc = "up to this size every GPU reads all of every other's"});
    keys.push_back({.path = inner + ".one_shot_latency",
                    .accepts = {{Kind::time, between(0, 1)}},
                    .doc = "fixed time of such a one"});
    keys.push_back({.path = inner + ".one_shot_bandwidth",
                    .accepts = {{Kind::bandwidth, at_least(1e6)}},
                    .doc = "(n - 1) x bytes / this is the rest of its time"});
  }
  return keys;
}

}  // namespace

Schema model_schema(const NameDocs& element_types) {
  return {"model",
          {
              text("source", "", "where the numbers were read"),
              count("num_hidden_layers", "layers", {"n_layer", "num_layers"}),
              count("hidden_size", "width of the residual stream", {"n_embd", "d_model"}),
              count("intermediate_size", "width of the MLP, or of one expert", {"ffn_dim", "moe_intermediate_size"}),
              count("num_attention_heads", "query heads", {"n_head", "num_heads"}),
              count("num_key_value_heads", "heads of keys and values", {"num_kv_heads", "n_head_kv"}),
              count("head_dim", "elements of a head; hidden_size / num_attention_heads is only its usual value"),
              count("vocab_size", "rows of the embedding"),
              {.path = "max_position_embeddings",
               .accepts = {{Kind::tokens, kCount}},
               .required_in = "",
               .doc = "longest context",
               .aliases = {"max_model_len", "n_positions", "model_max_length"}},
              {.path = "sliding_window",
               .accepts = {{Kind::tokens, kCount}},
               .words = {{"none", "every layer looks at all tokens"}},
               .fallback = "none",
               .doc = "tokens that a layer looks back"},
              count_or_none("learned_position_embeddings", "rows of a learned table of positions; 0 = none"),
              count_or_none("num_experts", "experts a layer; 0 = dense", {"num_local_experts", "n_routed_experts"}),
              count_or_none("experts_per_token", "experts that a token visits; 0 = dense",
                            {"num_experts_per_tok", "top_k"}),
              yes_no("tie_word_embeddings", "false", "the output head is the embedding"),
              yes_no("gated_mlp", "true", "gate and up beside down: three matrices instead of two"),
              yes_no("attention_bias", "false", "biases of q, k and v"),
              yes_no("attention_output_bias", "false", "bias of the attention's output projection"),
              yes_no("mlp_bias", "false", "biases of the MLP"),
              yes_no("norm_bias", "false", "LayerNorm rather than RMSNorm"),
              yes_no("qk_norm", "false", "a norm over head_dim for q and one for k in every layer"),
              {.path = "dtype",
               .words = element_types,
               .required_in = "",
               .doc = "number format of the weights",
               .aliases = {"torch_dtype"}},
          }};
}

Schema gpu_schema() {
  Keys keys{
      text("source", "", "where the numbers were read"),
      {.path = "memory",
       .accepts = {{Kind::bytes, above(0)}},
       .required_in = "",
       .doc = "as CUDA reports it, which is less than the label",
       .aliases = {"memory_size", "gpu_memory"}},
      {.path = "memory_bandwidth", .accepts = {{Kind::bandwidth, at_least(1e6)}}, .required_in = "", .doc = "peak"},
      {.path = "bf16_flops",
       .accepts = {{Kind::flops, above(0)}},
       .required_in = "",
       .doc = "dense peak of the tensor cores",
       .aliases = {"fp16_flops", "flops"}},
      {.path = "fp8_flops",
       .accepts = {{Kind::flops, above(0)}},
       .words = {{"none", "no fp8 tensor cores"}},
       .fallback = "none",
       .doc = "dense peak in fp8"},
      count("sm_count", "streaming multiprocessors"),
      {.path = "shared_memory_per_sm",
       .accepts = {{Kind::bytes, above(0)}},
       .fallback = "100 KiB",
       .doc = "by compute capability: 8.0 164 KiB; 8.6, 8.9 and 12.0 100 KiB; 9.0 and 10.0 228 KiB"},
      {.path = "attention_kernel",
       .words = {{"flash_attention_2", "up to Ampere, Ada and consumer Blackwell"},
                 {"flash_attention_3", "Hopper and later"}},
       .required_in = "",
       .doc = "which attention kernels serving engines pick for it"},
      {.path = "gpu_link",
       .accepts = {{Kind::bandwidth, at_least(1e6)}},
       .words = {{"none", "GPUs talk over PCIe"}},
       .fallback = "none",
       .doc = "GPU to GPU, per direction"},
      {.path = "pcie",
       .accepts = {{Kind::bandwidth, at_least(1e6)}},
       .required_in = "",
       .doc = "to the host, per direction"},
  };
  for (Key& key : calibration_keys()) keys.push_back(std::move(key));
  return {"GPU",
          std::move(keys),
          {{"calibration", "what kernels reach of the peaks; without it generic constants are taken"},
           {"calibration.fp8", "GEMMs with fp8 weights and activations; without it the constants above"},
           {"calibration.all_reduce", "in a CUDA graph, by number of GPUs"},
           {"calibration.all_reduce_eager", "launched one by one, by number of GPUs"}}};
}

Schema calibration_schema(const NameDocs& shares, const NameDocs& times) {
  Keys keys{
      text("source", "", "what was measured, by whom"),
      text("error", "", "how far the fit is from which data"),
      {.path = "model", .accepts = {Kind::text}, .doc = "that the server ran; reports say where another one is run"},
      {.path = "gpu", .accepts = {Kind::text}, .doc = "likewise"},
      {.path = "gpus", .accepts = {{Kind::integer, kCount}}, .doc = "likewise, how many"},
  };
  for (const NameDoc& share : shares) {
    keys.push_back({.path = share.name, .accepts = {{Kind::real, above_up_to(0, 2)}}, .doc = share.doc});
  }
  for (const NameDoc& time : times) {
    keys.push_back({.path = time.name, .accepts = {{Kind::time, between(0, 60)}}, .doc = time.doc});
  }
  return {"calibration", std::move(keys)};
}

}  // namespace blockyard::scenario
