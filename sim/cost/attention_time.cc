#include "sim/cost/attention_time.h"

#include <algorithm>
#include <cmath>

namespace blockyard::cost {
namespace {

constexpr double kActivationBytes = 2;
constexpr double kTileRows = 64;

double mixed_decode_bytes(const model::GpuSpec& gpu, const Calibration& c, double group) {
  if (gpu.attention_kernel != model::AttentionKernel::flash_attention_2 || c.mixed_decode_factor == 0) return 1;
  const double alone = c.attention_form == AttentionForm::own ? c.decode_memory_efficiency : c.memory_efficiency;
  return std::max(1.0, alone / (c.mixed_decode_factor / group));
}

}  // namespace

AttentionTime::AttentionTime(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& c,
                             std::int64_t tp, model::ElementType kv_dtype, double decode_slowdown)
    : roofline_(gpu, c),
      form_(c.attention_form),
      occupancy_(c.prefill_occupancy && gpu.attention_kernel == model::AttentionKernel::flash_attention_2),
      layers_(static_cast<double>(spec.num_hidden_layers)),
      sm_count_(static_cast<double>(gpu.sm_count)),
      query_heads_(static_cast<double>(model::attention_heads_per_gpu(spec, tp))),
      kv_heads_(static_cast<double>(model::kv_heads_per_gpu(spec.num_key_value_heads, tp))),
      flops_per_pair_(4 * query_heads_ * static_cast<double>(spec.head_dim)),
      kv_bytes_per_token_(2 * kv_heads_ * static_cast<double>(spec.head_dim) * model::bytes_per_element(kv_dtype)),
      query_bytes_per_token_(2 * kActivationBytes * query_heads_ * static_cast<double>(spec.head_dim)),
      whole_streams_(query_heads_ == kv_heads_),
      stream_s_per_token_(c.stream_bytes_per_s > 0 && gpu.attention_kernel == model::AttentionKernel::flash_attention_2
                              ? 2 * static_cast<double>(spec.head_dim) * model::bytes_per_element(kv_dtype) /
                                    c.stream_bytes_per_s
                              : 0),
      mixed_decode_bytes_(mixed_decode_bytes(gpu, c, query_heads_ / kv_heads_)),
      decode_s_per_byte_(1 / (c.decode_memory_efficiency * gpu.memory_bandwidth_bytes_per_s)),
      prefill_s_per_flop_(1 / (c.prefill_compute_efficiency * gpu.bf16_flops_per_s)),
      prefill_s_per_byte_(
          c.prefill_memory_efficiency > 0 ? 1 / (c.prefill_memory_efficiency * gpu.memory_bandwidth_bytes_per_s) : 0),
      decode_slowdown_(decode_slowdown),
      decode_overhead_s_(c.decode_overhead_s),
      prefill_overhead_s_(c.prefill_overhead_s) {}

Seconds AttentionTime::seconds(const StepWork& work) const {
  Seconds layer = 0;
  if (work.decode_sequences > 0) layer += (1 + decode_slowdown_) * decode(work);
  if (work.prefill_tokens > 0) layer += prefill(work);
  return layers_ * layer;
}

double AttentionTime::pairs(double fresh, double context) const {
  if (!occupancy_) return fresh * context + fresh * fresh / 2;
  const double group = query_heads_ / kv_heads_;
  const double row_tiles = std::ceil(fresh * group / kTileRows);
  const double tiles = kv_heads_ * row_tiles;
  const double places = std::ceil(tiles / sm_count_) * sm_count_;
  const double rows = row_tiles * kTileRows / group;  // fresh, padded to whole tiles
  const double wave_rows = sm_count_ * kTileRows / query_heads_;
  const double pairs_per_tile = kTileRows / query_heads_;
  return pairs_per_tile * (tiles * (context + rows / 2) + (places - tiles) * (context + std::min(rows, wave_rows) / 2));
}

Seconds AttentionTime::decode(const StepWork& work) const {
  const bool beside_chunk = work.prefill_tokens > 0;
  const double kv_tokens = static_cast<double>(work.decode_kv_tokens);
  const double bytes = kv_tokens * kv_bytes_per_token_ * (beside_chunk ? mixed_decode_bytes_ : 1);
  if (form_ == AttentionForm::as_gemm) return roofline_.kernel(flops_per_pair_ * kv_tokens, bytes);
  if (stream_s_per_token_ == 0 || !(beside_chunk || whole_streams_)) {
    return bytes * decode_s_per_byte_ + decode_overhead_s_;
  }
  const Seconds stream = static_cast<double>(work.decode_longest) * stream_s_per_token_;
  return std::max(bytes * decode_s_per_byte_, stream) + std::min(decode_overhead_s_, prefill_overhead_s_);
}

Seconds AttentionTime::prefill(const StepWork& work) const {
  const double flops = flops_per_pair_ * work.prefill_pairs;
  const double bytes = static_cast<double>(work.prefill_tokens) * query_bytes_per_token_ +
                       static_cast<double>(work.prefill_kv_tokens) * kv_bytes_per_token_;
  if (form_ == AttentionForm::as_gemm) return roofline_.kernel(flops, bytes);
  return flops * prefill_s_per_flop_ + bytes * prefill_s_per_byte_ + prefill_overhead_s_;
}

}  // namespace blockyard::cost
