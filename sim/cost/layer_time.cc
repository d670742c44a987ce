#include "sim/cost/layer_time.h"

#include "sim/cost/cuda_graphs.h"

namespace blockyard::cost {
namespace {

constexpr double kActivationBytes = 2;
constexpr double kHeadBytes = 2;  // quantised checkpoints keep the output head in 16 bits
// A fused elementwise kernel finds part of its input in the L2 cache: measured on compiled layers.
constexpr double kFusedOverPeakBandwidth = 1.7;

}  // namespace

LayerTime::LayerTime(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration,
                     const Parallelism& p, std::int64_t largest_graph)
    : roofline_(gpu, calibration),
      weights_(GemmRoofline::for_weights(gpu, calibration, spec.dtype)),
      all_reduce_(all_reduce_for(calibration, gpu, p.tensor, p.links, largest_graph == 0).constants),
      tp_(p.tensor),
      expert_parallel_(p.experts && p.tensor > 1),
      largest_graph_(largest_graph),
      layers_(spec.num_hidden_layers),
      experts_(spec.num_experts),
      experts_per_token_(spec.experts_per_token),
      hidden_(static_cast<double>(spec.hidden_size)),
      query_(static_cast<double>(model::attention_heads_per_gpu(spec, p.tensor) * spec.head_dim)),
      key_value_(static_cast<double>(model::kv_heads_per_gpu(spec.num_key_value_heads, p.tensor) * spec.head_dim)),
      intermediate_(static_cast<double>(spec.intermediate_size) /
                    (expert_parallel_ ? 1.0 : static_cast<double>(p.tensor))),
      up_(spec.gated_mlp ? 2 * intermediate_ : intermediate_),
      vocab_(static_cast<double>(spec.vocab_size) / static_cast<double>(p.tensor)),
      weight_bytes_(model::bytes_per_element(spec.dtype)),
      separate_elementwise_(calibration.elementwise_form == ElementwiseForm::separate),
      elementwise_overhead_s_(calibration.elementwise_overhead_s),
      sampler_overhead_s_(calibration.sampler_overhead_s),
      peak_bytes_per_s_(gpu.memory_bandwidth_bytes_per_s) {}

Seconds LayerTime::layers(std::int64_t tokens) const {
  if (tokens == 0) return 0;
  const double m = static_cast<double>(padded_tokens(tokens, largest_graph_));
  return static_cast<double>(layers_) * (attention_projections(m) + mlp(m) + elementwise(m) + collectives(m));
}

// The vocabulary is split over the ranks, whose logits are then gathered; the sampler reads the logits of every row
// twice, in 4 bytes each.
Seconds LayerTime::head(std::int64_t rows) const {
  if (rows == 0) return 0;
  const double m = static_cast<double>(rows);
  const double gpus = static_cast<double>(tp_);
  Seconds seconds = roofline_.gemm(1, m, vocab_, hidden_, kHeadBytes);
  if (tp_ > 1) {
    const double bytes = kActivationBytes * m * vocab_ * (gpus - 1);
    seconds += all_reduce_.latency_s + bytes / all_reduce_.bus_bandwidth_bytes_per_s;
  }
  return seconds + sampler_overhead_s_ + 2 * 4 * m * vocab_ * gpus / peak_bytes_per_s_;
}

// Two all-reduces of the residual stream; experts that are whole on one GPU take their tokens and give them back
// instead of the second: (n - 1) / n of the rows' k copies each way, for the 1 / n of the tokens a GPU is in charge of.
Seconds LayerTime::collectives(double tokens) const {
  if (tp_ == 1) return 0;
  const double bytes = kActivationBytes * tokens * hidden_;
  const Seconds one = all_reduce_seconds(all_reduce_, tp_, bytes);
  if (!expert_parallel_ || experts_ == 0) return 2 * one;
  const double gpus = static_cast<double>(tp_);
  const double there = bytes * static_cast<double>(experts_per_token_) / gpus * (gpus - 1) / gpus;
  return one + 2 * (all_reduce_.latency_s + there / all_reduce_.bus_bandwidth_bytes_per_s);
}

Seconds LayerTime::attention_projections(double tokens) const {
  return weights_.gemm(1, tokens, query_ + 2 * key_value_, hidden_, weight_bytes_) +
         weights_.gemm(1, tokens, hidden_, query_, weight_bytes_);
}

Seconds LayerTime::mlp(double tokens) const {
  if (experts_ == 0) {
    return weights_.gemm(1, tokens, up_, hidden_, weight_bytes_) +
           weights_.gemm(1, tokens, hidden_, intermediate_, weight_bytes_);
  }
  const double share = expert_parallel_ ? 1 / static_cast<double>(tp_) : 1;  // of experts and rows, evenly routed
  const double touched = share * distinct_experts(tokens, experts_per_token_, experts_);
  const double rows = share * tokens * static_cast<double>(experts_per_token_);
  return roofline_.gemm(1, tokens, static_cast<double>(experts_), hidden_, kActivationBytes) +
         weights_.gemm(touched, rows, up_, hidden_, weight_bytes_) +
         weights_.gemm(touched, rows, hidden_, intermediate_, weight_bytes_);
}

Seconds LayerTime::elementwise(double tokens) const {
  double rows = experts_ == 0 ? tokens : tokens * static_cast<double>(experts_per_token_);
  if (experts_ > 0 && expert_parallel_) rows /= static_cast<double>(tp_);
  const double activation = rows * (up_ + intermediate_);
  const double rotary = 2 * tokens * (query_ + key_value_);
  if (!separate_elementwise_) {
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
