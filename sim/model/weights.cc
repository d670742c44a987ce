#include "sim/model/weights.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "sim/base/check.h"

namespace blockyard::model {
namespace {

std::int64_t layers_in(const std::vector<std::int32_t>& where, const Stage& stage) {
  return std::count_if(where.begin(), where.end(), [&](std::int32_t n) { return n >= stage.first && n < stage.last; });
}

double per_rank(const WeightCount& w, std::int64_t kv_heads, std::int64_t tp) {
  const double kv_share = kv_heads > 0
                              ? static_cast<double>(kv_heads_per_gpu(kv_heads, tp)) / static_cast<double>(kv_heads)
                              : 1 / static_cast<double>(tp);
  return static_cast<double>(w.split) / static_cast<double>(tp) + static_cast<double>(w.key_value) * kv_share +
         static_cast<double>(w.replicated);
}

const char* module_of(Matrices matrices) {
  switch (matrices) {
    case Matrices::attention:
      return "self_attn";
    case Matrices::recurrent:
      return "mixer";
    case Matrices::mlp:
      return "mlp";
    case Matrices::shared_experts:
      return "shared_expert";
    case Matrices::experts:
      return "mlp.experts";
  }
  return "";
}

class Parts {
 public:
  void add(const char* name, double elements, double bytes_per_element) {
    if (elements == 0) return;
    for (WeightPart& part : parts_) {
      if (std::string_view(part.name) != name) continue;
      part.elements += elements;
      part.bytes += elements * bytes_per_element;
      return;
    }
    parts_.push_back({name, elements, elements * bytes_per_element});
  }
  [[nodiscard]] std::vector<WeightPart> take() { return std::move(parts_); }

 private:
  std::vector<WeightPart> parts_;
};

constexpr const char* kEmbedding = "embedding";
constexpr const char* kAttention = "attention";
constexpr const char* kRecurrent = "recurrent mixers";
constexpr const char* kMlp = "MLP";
constexpr const char* kExperts = "experts";
constexpr const char* kHead = "output head";

std::int64_t final_norm(const ModelSpec& m) { return m.norm_bias ? 2 * m.hidden_size : m.hidden_size; }

}  // namespace

double bytes_per_weight(const ModelSpec& spec, Matrices matrices) {
  const double own = bytes_per_element(spec.dtype);
  if (!spec.quantization || (spec.quantization->experts_only && matrices != Matrices::experts)) return own;
  const double kept = kept_share(*spec.quantization, module_of(matrices), spec.num_hidden_layers);
  return kept * own + (1 - kept) * spec.quantization->bytes_per_weight;
}

std::vector<Stage> pipeline_stages(std::int64_t num_hidden_layers, std::int64_t pp) {
  CHECK_LAW(pp >= 1 && pp <= num_hidden_layers, "{} stages of {} layers", pp, num_hidden_layers);
  std::vector<std::int64_t> parts(static_cast<std::size_t>(pp), num_hidden_layers / pp);
  for (std::int64_t i = 0; i < num_hidden_layers % pp; ++i) ++parts[static_cast<std::size_t>(pp - 2 - i)];
  std::vector<Stage> stages;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < pp; ++i) {
    const std::int64_t last = first + parts[static_cast<std::size_t>(i)];
    stages.push_back({first, last, i == 0, i == pp - 1});
    first = last;
  }
  return stages;
}

std::vector<LayerGroup> layer_groups(const ModelSpec& spec, const Stage& stage) {
  std::vector<LayerGroup> groups = layer_groups(spec);
  for (LayerGroup& group : groups) {
    std::erase_if(group.where, [&](std::int32_t n) { return n < stage.first || n >= stage.last; });
  }
  return groups;
}

bool mixes_experts(const ModelSpec& spec) { return std::ranges::any_of(mlp_groups(spec), &MlpGroup::is_moe); }

std::vector<WeightPart> weight_parts(const ModelSpec& spec, std::int64_t tp, const Stage& stage,
                                     std::int64_t replicas) {
  Parts parts;
  const double own = bytes_per_element(spec.dtype);
  const double table = static_cast<double>(spec.vocab_size * spec.hidden_size) / static_cast<double>(tp);
  // A last stage apart from the first has a copy of a tied embedding.
  const bool embeds = stage.embeds || (stage.samples && spec.tie_word_embeddings);
  if (embeds) parts.add(kEmbedding, table, own);
  if (stage.embeds) {
    parts.add(kEmbedding,
              static_cast<double>(spec.learned_position_embeddings * spec.hidden_size + spec.other_embedding_elements),
              own);
  }
  for (const LayerGroup& group : layer_groups(spec)) {
    const auto layers = static_cast<double>(layers_in(group.where, stage));
    const WeightCount matrices{group.weights.split, group.weights.key_value, 0};
    const WeightCount vectors{0, 0, group.weights.replicated};
    const char* name = group.attends() ? kAttention : kRecurrent;
    // MLA's low-rank inputs are matrices although every rank has them.
    const double bytes = bytes_per_weight(spec, group.attends() ? Matrices::attention : Matrices::recurrent);
    parts.add(name, layers * per_rank(matrices, group.latent ? 0 : group.kv_heads, tp), bytes);
    parts.add(name, layers * per_rank(vectors, 0, tp), group.latent ? bytes : own);
  }
  for (const MlpGroup& group : mlp_groups(spec)) {
    const auto layers = static_cast<double>(layers_in(group.where, stage));
    const char* name = group.is_moe() ? kExperts : kMlp;
    parts.add(name, layers * static_cast<double>(group.weights.split) / static_cast<double>(tp),
              bytes_per_weight(spec, group.is_moe() ? Matrices::shared_experts : Matrices::mlp));
    parts.add(name, layers * static_cast<double>(group.weights.replicated), own);
    parts.add(name, layers * static_cast<double>(group.expert_weights) / static_cast<double>(tp * replicas),
              bytes_per_weight(spec, Matrices::experts));
  }
  if (stage.samples) {
    const bool quantised = spec.quantization && spec.quantization->output_head;
    if (!spec.tie_word_embeddings) parts.add(kHead, table, quantised ? spec.quantization->bytes_per_weight : own);
    parts.add(kHead, static_cast<double>(final_norm(spec)), own);
  }
  return parts.take();
}

std::int64_t parameter_count(const ModelSpec& spec) {
  double elements = 0;
  for (const WeightPart& part : weight_parts(spec, 1, whole_model(spec))) elements += part.elements;
  return std::llround(elements);
}

std::int64_t active_parameter_count(const ModelSpec& spec) {
  double idle = 0;
  for (const MlpGroup& group : mlp_groups(spec)) {
    if (!group.is_moe()) continue;
    idle += static_cast<double>(group.layers()) * static_cast<double>(group.expert_weights) *
            (1 - static_cast<double>(group.experts_per_token) / static_cast<double>(group.experts));
  }
  return parameter_count(spec) - std::llround(idle);
}

Bytes weight_bytes(const ModelSpec& spec) { return weight_bytes_per_gpu(spec, 1, whole_model(spec)); }

Bytes weight_bytes_per_gpu(const ModelSpec& spec, std::int64_t tp) {
  return weight_bytes_per_gpu(spec, tp, whole_model(spec));
}

Bytes weight_bytes_per_gpu(const ModelSpec& spec, std::int64_t tp, const Stage& stage, std::int64_t replicas) {
  double bytes = 0;
  for (const WeightPart& part : weight_parts(spec, tp, stage, replicas)) bytes += part.bytes;
  return Bytes(std::llround(bytes));
}

}  // namespace blockyard::model
