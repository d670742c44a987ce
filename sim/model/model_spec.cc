#include "sim/model/model_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/base/check.h"

namespace blockyard::model {
namespace {

// Far above any model; sums of bytes stay exact in 64 bits.
constexpr std::int64_t kLargestField = 1'000'000'000;
constexpr std::int64_t kLargestState = 10'000'000'000;
constexpr double kMostKvElements = 1e9;  // a token, all layers
constexpr double kMostParameters = 1e15;

LayerGroup usual_layer(const ModelSpec& m) {
  const std::int64_t q = m.num_attention_heads * m.head_dim;
  const std::int64_t kv = 2 * m.num_key_value_heads * m.head_dim;
  const std::int64_t norm = m.norm_bias ? 2 * m.hidden_size : m.hidden_size;
  LayerGroup group;
  group.kind = m.sliding_window > 0 ? LayerKind::sliding_window : LayerKind::full_attention;
  group.where = all_layers(m.num_hidden_layers);
  group.query_heads = m.num_attention_heads;
  group.kv_heads = m.num_key_value_heads;
  group.d_k = group.d_v = m.head_dim;
  group.window = Tokens(m.sliding_window);
  group.weights.split = 2 * m.hidden_size * q + (m.attention_bias ? q : 0);
  group.weights.key_value = m.hidden_size * kv + (m.attention_bias ? kv : 0);
  group.weights.replicated =
      2 * norm + (m.attention_output_bias ? m.hidden_size : 0) + (m.qk_norm ? 2 * m.head_dim : 0);
  return group;
}

MlpGroup usual_mlp(const ModelSpec& m) {
  const std::int64_t up = m.gated_mlp ? 2 : 1;
  const std::int64_t matrices = (up + 1) * m.hidden_size * m.intermediate_size;
  const std::int64_t bias = m.mlp_bias ? up * m.intermediate_size : 0;
  MlpGroup group;
  group.where = all_layers(m.num_hidden_layers);
  group.intermediate_size = m.intermediate_size;
  group.experts = m.num_experts;
  group.experts_per_token = m.experts_per_token;
  group.gated = m.gated_mlp;
  if (m.is_moe()) {
    group.expert_weights = m.num_experts * (matrices + bias + (m.mlp_bias ? m.hidden_size : 0));
    group.weights.replicated = m.num_experts * m.hidden_size;
  } else {
    group.weights.split = matrices + bias;
    group.weights.replicated = m.mlp_bias ? m.hidden_size : 0;
  }
  return group;
}

}  // namespace

std::vector<std::int32_t> all_layers(std::int64_t layers) {
  std::vector<std::int32_t> where(static_cast<std::size_t>(layers));
  std::iota(where.begin(), where.end(), 0);
  return where;
}

std::vector<LayerGroup> layer_groups(const ModelSpec& spec) {
  if (!spec.layers.empty()) return spec.layers;
  return {usual_layer(spec)};
}

std::vector<MlpGroup> mlp_groups(const ModelSpec& spec) {
  if (!spec.mlps.empty() || !spec.layers.empty()) return spec.mlps;
  return {usual_mlp(spec)};
}

void check(const ModelSpec& m, const Place& place, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.list().size();
  const auto range = [&](const char* field, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high) {
      diagnostics.add(place, fmt::format("{} is {}, expected {} to {}", field, value, low, high));
    }
  };
  range("num_hidden_layers", m.num_hidden_layers, 1, 10'000);
  range("hidden_size", m.hidden_size, 1, 1'000'000);
  range("vocab_size", m.vocab_size, 1, 100'000'000);
  range("max_position_embeddings", m.max_position_embeddings, 1, kLargestField);
  range("learned_position_embeddings", m.learned_position_embeddings, 0, kLargestField);
  const bool uniform = m.layers.empty();
  if (uniform) {
    range("intermediate_size", m.intermediate_size, 1, 10'000'000);
    range("num_attention_heads", m.num_attention_heads, 1, 10'000);
    range("num_key_value_heads", m.num_key_value_heads, 1, 10'000);
    range("head_dim", m.head_dim, 1, 100'000);
    range("sliding_window", m.sliding_window, 0, kLargestField);
    range("num_experts", m.num_experts, 0, 100'000);
  }
  if (diagnostics.list().size() != before) return;  // what follows would repeat them

  if (uniform && !m.is_moe() && m.experts_per_token != 0) {
    diagnostics.add(place, fmt::format("experts_per_token is {} although there are no experts", m.experts_per_token));
  }
  double parameters =
      static_cast<double>(m.hidden_size) * static_cast<double>(2 * m.vocab_size + m.learned_position_embeddings);
  double kv_elements = 0;
  for (const LayerGroup& group : layer_groups(m)) {
    if (group.attends()) {
      range("num_attention_heads", group.query_heads, 1, 10'000);
      range("num_key_value_heads", group.kv_heads, 1, 10'000);
      range("head_dim", std::max(group.d_k, group.d_v), 0, 100'000);
    }
    range("elements of recurrent state", group.state.elements, 0, kLargestState);
    range("elements of a convolution's past", group.state.conv_elements, 0, kLargestState);
    parameters += static_cast<double>(group.layers()) * static_cast<double>(group.weights.total());
    kv_elements += static_cast<double>(group.layers()) * static_cast<double>(group.kv_heads) *
                   static_cast<double>(group.d_k + group.d_v);
    if (!group.latent && group.kv_heads > 0 && group.query_heads % group.kv_heads != 0) {
      diagnostics.add(place, fmt::format("num_key_value_heads is {}, which does not divide num_attention_heads {}",
                                         group.kv_heads, group.query_heads));
    }
  }
  for (const MlpGroup& group : mlp_groups(m)) {
    range("intermediate_size", group.intermediate_size, 1, 10'000'000);
    if (group.is_moe()) range("experts_per_token", group.experts_per_token, 1, group.experts);
    parameters += static_cast<double>(group.layers()) *
                  (static_cast<double>(group.weights.total()) + static_cast<double>(group.expert_weights));
  }
  if (kv_elements > kMostKvElements) {
    diagnostics.add(place, fmt::format("a token would keep {:.3g} elements of KV, expected at most {:.0e}", kv_elements,
                                       kMostKvElements));
  }
  if (parameters > kMostParameters) {
    diagnostics.add(
        place, fmt::format("the fields make {:.3g} parameters, expected at most {:.0e}", parameters, kMostParameters));
  }
}

void check_tensor_parallel(const ModelSpec& m, std::int64_t tp, const Place& place, Diagnostics& diagnostics) {
  if (tp < 1) {
    diagnostics.add(place, fmt::format("tensor_parallel_size is {}, expected 1 or more", tp));
    return;
  }
  // One fault, however many fields show it.
  std::vector<std::string> undivided;
  const auto expect = [&](bool divides, std::string field) {
    if (divides || std::ranges::find(undivided, field) != undivided.end()) return;
    undivided.push_back(std::move(field));
  };
  const auto divides = [&](const char* field, std::int64_t value) {
    expect(value % tp == 0, fmt::format("{} {}", field, value));
  };
  for (const LayerGroup& group : layer_groups(m)) {
    if (!group.attends()) {
      divides("recurrent heads", group.state.heads);
      continue;
    }
    divides("num_attention_heads", group.query_heads);
    // More ranks than KV heads hold copies of them.
    expect(group.latent || group.kv_heads % tp == 0 || tp % group.kv_heads == 0,
           fmt::format("num_key_value_heads {}", group.kv_heads));
  }
  for (const MlpGroup& group : mlp_groups(m)) {
    divides("intermediate_size", group.intermediate_size);
  }
  if (undivided.empty()) return;
  diagnostics.add(
      place, fmt::format("tensor_parallel_size {} does not divide {} of {}", tp, fmt::join(undivided, ", "), m.name));
}

std::int64_t attention_heads_per_gpu(const ModelSpec& spec, std::int64_t tp) {
  CHECK_LAW(tp >= 1 && spec.num_attention_heads % tp == 0, "{} heads over {} GPUs", spec.num_attention_heads, tp);
  return spec.num_attention_heads / tp;
}

std::int64_t kv_heads_per_gpu(std::int64_t kv_heads, std::int64_t tp) {
  CHECK_LAW(tp >= 1 && kv_heads >= 1 && (kv_heads % tp == 0 || tp % kv_heads == 0), "{} kv heads over {} GPUs",
            kv_heads, tp);
  return std::max<std::int64_t>(1, kv_heads / tp);
}

}  // namespace blockyard::model
