#include "sim/model/model_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"

namespace blockyard::model {
namespace {

// Elements of all weights, by what tensor parallelism does to them.
struct Elements {
  std::int64_t split = 0;       // over all ranks
  std::int64_t key_value = 0;   // k and v projections: over at most num_key_value_heads ranks
  std::int64_t replicated = 0;  // on every rank
};

Elements count_elements(const ModelSpec& m) {
  const std::int64_t q = m.num_attention_heads * m.head_dim;
  const std::int64_t kv = 2 * m.num_key_value_heads * m.head_dim;
  const std::int64_t norm = m.norm_bias ? 2 * m.hidden_size : m.hidden_size;
  const std::int64_t up = m.gated_mlp ? 2 : 1;

  Elements layer;
  layer.split = 2 * m.hidden_size * q + (m.attention_bias ? q : 0);
  layer.key_value = m.hidden_size * kv + (m.attention_bias ? kv : 0);
  layer.replicated = 2 * norm + (m.attention_output_bias ? m.hidden_size : 0) + (m.qk_norm ? 2 * m.head_dim : 0);

  const std::int64_t mlps = std::max<std::int64_t>(m.num_experts, 1);
  layer.split += mlps * ((up + 1) * m.hidden_size * m.intermediate_size + (m.mlp_bias ? up * m.intermediate_size : 0));
  layer.replicated += m.num_experts * m.hidden_size + (m.mlp_bias ? mlps * m.hidden_size : 0);

  Elements all;
  all.split = m.num_hidden_layers * layer.split + (m.tie_word_embeddings ? 1 : 2) * m.vocab_size * m.hidden_size;
  all.key_value = m.num_hidden_layers * layer.key_value;
  all.replicated = m.num_hidden_layers * layer.replicated + norm + m.learned_position_embeddings * m.hidden_size;
  return all;
}

Bytes bytes_of(double elements, ElementType type) { return Bytes(std::llround(elements * bytes_per_element(type))); }

// Far above any model; sums of bytes stay exact in 64 bits.
constexpr std::int64_t kLargestField = 1'000'000'000;
constexpr double kMostParameters = 1e15;

}  // namespace

void check(const ModelSpec& m, const Place& place, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.list().size();
  const auto range = [&](const char* field, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high) {
      diagnostics.add(place, fmt::format("{} is {}, expected {} to {}", field, value, low, high));
    }
  };
  range("num_hidden_layers", m.num_hidden_layers, 1, 10'000);
  range("hidden_size", m.hidden_size, 1, 1'000'000);
  range("intermediate_size", m.intermediate_size, 1, 10'000'000);
  range("num_attention_heads", m.num_attention_heads, 1, 10'000);
  range("num_key_value_heads", m.num_key_value_heads, 1, 10'000);
  range("head_dim", m.head_dim, 1, 100'000);
  range("vocab_size", m.vocab_size, 1, 100'000'000);
  range("max_position_embeddings", m.max_position_embeddings, 1, kLargestField);
  range("sliding_window", m.sliding_window, 0, kLargestField);
  range("learned_position_embeddings", m.learned_position_embeddings, 0, kLargestField);
  range("num_experts", m.num_experts, 0, 100'000);
  if (diagnostics.list().size() != before) return;  // what follows would repeat them

  if (m.num_attention_heads % m.num_key_value_heads != 0) {
    diagnostics.add(place, fmt::format("num_key_value_heads is {}, which does not divide num_attention_heads {}",
                                       m.num_key_value_heads, m.num_attention_heads));
  }
  const double h = static_cast<double>(m.hidden_size);
  const double heads = static_cast<double>(m.num_attention_heads + m.num_key_value_heads);
  const double mlp =
      3 * h * static_cast<double>(m.intermediate_size) * static_cast<double>(std::max<std::int64_t>(m.num_experts, 1));
  const double about =
      static_cast<double>(m.num_hidden_layers) * (2 * h * heads * static_cast<double>(m.head_dim) + mlp) +
      h * static_cast<double>(2 * m.vocab_size + m.learned_position_embeddings);
  if (about > kMostParameters) {
    diagnostics.add(place,
                    fmt::format("the fields make {:.3g} parameters, expected at most {:.0e}", about, kMostParameters));
  }
  if (m.is_moe()) {
    range("experts_per_token", m.experts_per_token, 1, m.num_experts);
  } else if (m.experts_per_token != 0) {
    diagnostics.add(place, fmt::format("experts_per_token is {} although there are no experts", m.experts_per_token));
  }
}

void check_tensor_parallel(const ModelSpec& m, std::int64_t tp, const Place& place, Diagnostics& diagnostics) {
  if (tp < 1) {
    diagnostics.add(place, fmt::format("tensor_parallel_size is {}, expected 1 or more", tp));
    return;
  }
  const auto divides = [&](const char* field, std::int64_t value) {
    if (value % tp == 0) return;
    diagnostics.add(place,
                    fmt::format("tensor_parallel_size {} does not divide {} {} of {}", tp, field, value, m.name));
  };
  divides("num_attention_heads", m.num_attention_heads);
  divides("intermediate_size", m.intermediate_size);
  if (m.num_key_value_heads % tp != 0 && tp % m.num_key_value_heads != 0) {
    diagnostics.add(
        place, fmt::format("neither of tensor_parallel_size {} and num_key_value_heads {} of {} divides the other", tp,
                           m.num_key_value_heads, m.name));
  }
}

std::int64_t parameter_count(const ModelSpec& spec) {
  const Elements e = count_elements(spec);
  return e.split + e.key_value + e.replicated;
}

Bytes weight_bytes(const ModelSpec& spec) { return bytes_of(static_cast<double>(parameter_count(spec)), spec.dtype); }

Bytes weight_bytes_per_gpu(const ModelSpec& spec, std::int64_t tp) {
  const Elements e = count_elements(spec);
  const double kv_share = static_cast<double>(kv_heads_per_gpu(spec.num_key_value_heads, tp)) /
                          static_cast<double>(spec.num_key_value_heads);
  return bytes_of(static_cast<double>(e.split) / static_cast<double>(tp) + static_cast<double>(e.key_value) * kv_share +
                      static_cast<double>(e.replicated),
                  spec.dtype);
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
