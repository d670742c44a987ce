#include "sim/cost/layer_time.h"

namespace blockyard::cost {
namespace {

constexpr double kActivationBytes = 2;
// A fused elementwise kernel finds part of its input in the L2 cache: measured on compiled layers.
constexpr double kFusedOverPeakBandwidth = 1.7;

}  // namespace

LayerTime::LayerTime(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration,
                     std::int64_t tp)
    : roofline_(gpu, calibration),
      all_reduce_(all_reduce_for(calibration, gpu, tp).constants),
      tp_(tp),
      layers_(spec.num_hidden_layers),
      experts_(spec.num_experts),
      experts_per_token_(spec.experts_per_token),
      hidden_(static_cast<double>(spec.hidden_size)),
      query_(static_cast<double>(model::attention_heads_per_gpu(spec, tp) * spec.head_dim)),
      key_value_(static_cast<double>(model::kv_heads_per_gpu(spec.num_key_value_heads, tp) * spec.head_dim)),
      intermediate_(static_cast<double>(spec.intermediate_size) / static_cast<double>(tp)),
      up_(spec.gated_mlp ? 2 * intermediate_ : intermediate_),
      vocab_(static_cast<double>(spec.vocab_size) / static_cast<double>(tp)),
      weight_bytes_(model::bytes_per_element(spec.dtype)),
      elementwise_as_gemm_(calibration.attention_form == AttentionForm::as_gemm),
      elementwise_overhead_s_(calibration.elementwise_overhead_s),
      peak_bytes_per_s_(gpu.memory_bandwidth_bytes_per_s) {}

Seconds LayerTime::layers(std::int64_t tokens) const {
  if (tokens == 0) return 0;
  const double m = static_cast<double>(tokens);
  Seconds layer = attention_projections(m) + mlp(m) + elementwise(m);
  if (tp_ > 1) layer += 2 * all_reduce_seconds(all_reduce_, tp_, kActivationBytes * m * hidden_);
  return static_cast<double>(layers_) * layer;
}

Seconds LayerTime::head(std::int64_t rows) const {
  if (rows == 0) return 0;
  return roofline_.gemm(1, static_cast<double>(rows), vocab_, hidden_, weight_bytes_);
}

Seconds LayerTime::attention_projections(double tokens) const {
  return roofline_.gemm(1, tokens, query_ + 2 * key_value_, hidden_, weight_bytes_) +
         roofline_.gemm(1, tokens, hidden_, query_, weight_bytes_);
}

Seconds LayerTime::mlp(double tokens) const {
  if (experts_ == 0) {
    return roofline_.gemm(1, tokens, up_, hidden_, weight_bytes_) +
           roofline_.gemm(1, tokens, hidden_, intermediate_, weight_bytes_);
  }
  const double touched = distinct_experts(tokens, experts_per_token_, experts_);
  const double rows = tokens * static_cast<double>(experts_per_token_);
  return roofline_.gemm(1, tokens, static_cast<double>(experts_), hidden_, weight_bytes_) +
         roofline_.gemm(touched, rows, up_, hidden_, weight_bytes_) +
         roofline_.gemm(touched, rows, hidden_, intermediate_, weight_bytes_);
}

Seconds LayerTime::elementwise(double tokens) const {
  const double rows = experts_ == 0 ? tokens : tokens * static_cast<double>(experts_per_token_);
  const double activation = rows * (up_ + intermediate_);
  const double rotary = 2 * tokens * (query_ + key_value_);
  if (!elementwise_as_gemm_) {
    const double elements = 8 * tokens * hidden_ + rotary + activation;
    return kActivationBytes * elements / (kFusedOverPeakBandwidth * peak_bytes_per_s_) + 4 * elementwise_overhead_s_;
  }
  const double norm = 2 * tokens * hidden_;
  const double add = 3 * tokens * hidden_;
  Seconds seconds = 0;
  for (const double elements : {norm, norm, add, add, rotary, activation}) {
    seconds += roofline_.kernel(0, kActivationBytes * elements);
  }
  return seconds;
}

}  // namespace blockyard::cost
