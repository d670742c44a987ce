#include "sim/model/overheads.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace blockyard::model {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

Bytes gib(double value) { return Bytes(std::llround(value * kGiB)); }

double sampled_rows(const OverheadInput& in) {
  return static_cast<double>(std::min(in.max_num_seqs, in.max_num_batched_tokens.count()));
}

// A profiling step runs the largest batch. Its peak is in the sampler (`row_bytes` a row and a vocabulary entry, over a
// few hidden states) or, on stages without one, in the MLP.
Bytes profiled_peak(const ModelSpec& spec, const OverheadInput& in, double row_bytes) {
  constexpr double kActivationBytes = 2;
  const double tokens = static_cast<double>(in.max_num_batched_tokens.count());
  const double hidden = tokens * static_cast<double>(spec.hidden_size) * kActivationBytes;
  const double width = static_cast<double>(spec.intermediate_size) / static_cast<double>(in.tp);
  const double mlp = 3 * tokens * width * kActivationBytes + 6.2 * hidden;
  const double sampler = row_bytes * sampled_rows(in) * static_cast<double>(spec.vocab_size) + 2.85 * hidden;
  return Bytes(std::llround(in.stage.samples ? std::max(mlp, sampler) : mlp));
}

MemoryOverheads vllm_0_11(const ModelSpec& spec, const OverheadInput& in) {
  return {profiled_peak(spec, in, 37.4), gib(in.tp > 1 ? 0.58 : 0.13), Bytes(0)};
}

MemoryOverheads vllm_0_15(const ModelSpec& spec, const OverheadInput& in) {
  const auto above = static_cast<double>(std::max<std::int64_t>(0, in.max_num_batched_tokens.count() - 2048));
  return {gib(5.5e-6 * static_cast<double>(spec.vocab_size) + 3.6e-5 * above), gib(in.tp > 1 ? 0.45 : 0), gib(0.25)};
}

MemoryOverheads vllm_0_19(const ModelSpec& spec, const OverheadInput& in) {
  return {profiled_peak(spec, in, 14), gib(in.tp > 1 ? 2.07 : in.pp > 1 ? 0.07 : 0.25), Bytes(0)};
}

MemoryOverheads nothing(const ModelSpec&, const OverheadInput&) { return {}; }

constexpr const char* kNotSubtracted = "not taken into account by this engine";

constexpr std::array kPresets{
    OverheadPreset{
        "vllm-0.15",
        "13 block counts of vLLM 0.15.1 (H100) and 0.19 (RTX 4090), CUDA graphs on, batches of 1,024 and more: "
        "0.5 % mean, 3.9 % worst error; only the sum was measured, its parts are named after their likely "
        "cause",
        "5.5e-6 GiB x vocab_size + 3.6e-5 GiB x batched tokens above 2048", "0.45 GiB if tp > 1",
        "0.25 GiB, the CUDA context included", vllm_0_15},
    OverheadPreset{
        "vllm-0.19",
        "memory split of 8 start-up logs of vLLM 0.19.0 (H100, 7-8B models, batches of 8,192 tokens and 1,024 "
        "sequences): activation within 0.06 GiB, non-torch within 0.02 GiB; tp > 2 not measured",
        "larger of MLP, 2 B x tokens (3 intermediate / tp + 6.2 hidden), and sampler, 14 B x sequences x "
        "vocab_size + 2 B x 2.85 tokens x hidden",
        "0.25 GiB; 2.07 GiB if tp > 1; 0.07 GiB if pp > 1", kNotSubtracted, vllm_0_19},
    OverheadPreset{"vllm-0.11",
                   "memory split of 2 start-up logs of vLLM 0.11.0 (H100, Llama-3.1-8B and Qwen3-32B, 8,192 tokens and "
                   "1,024 sequences taken as the engine's defaults): activation within 0.02 GiB; a third log "
                   "(Mistral-Small-24B) has 2.8 GiB less; tp > 1 not measured",
                   "larger of MLP, 2 B x tokens (3 intermediate / tp + 6.2 hidden), and sampler that sorts, 37.4 B x "
                   "sequences x vocab_size + 2 B x 2.85 tokens x hidden",
                   "0.13 GiB; 0.45 GiB more if tp > 1", kNotSubtracted, vllm_0_11},
    OverheadPreset{"none", "nothing beside weights and KV cache; give the parts that are known", "none", "none", "none",
                   nothing},
};

}  // namespace

const OverheadPreset* overhead_preset(std::string_view name) {
  const auto* found =
      std::find_if(kPresets.begin(), kPresets.end(), [&](const OverheadPreset& preset) { return name == preset.name; });
  return found == kPresets.end() ? nullptr : found;
}

const NameDocs& overhead_presets() {
  static const NameDocs docs = [] {
    NameDocs made;
    for (const OverheadPreset& preset : kPresets) made.push_back({preset.name, preset.doc});
    return made;
  }();
  return docs;
}

}  // namespace blockyard::model
