#include "sim/cost/attention_time.h"

#include <algorithm>
#include <cmath>

#include "sim/cost/cuda_graphs.h"
#include "sim/model/kv_geometry.h"

namespace blockyard::cost {
namespace {

using model::LayerGroup;
using model::LayerKind;

constexpr std::int64_t kTileRows = 64;
// A batch that brings so many streams an SM is not split further: constants of the kernel's own rule.
constexpr double kFilled = 0.8 * 2;

double mixed_decode_bytes_of(const model::GpuSpec& gpu, const Calibration& c, double group) {
  if (gpu.attention_kernel != model::AttentionKernel::flash_attention_2 || c.mixed_decode_factor == 0) return 1;
  const double alone = c.attention_form == AttentionForm::own ? c.decode_memory_efficiency : c.memory_efficiency;
  return std::max(1.0, alone / (c.mixed_decode_factor / group));
}

// A thread block keeps 64 query rows, and so many rows of K and V, in shared memory, 2 bytes an element.
double blocks_per_sm(const model::GpuSpec& gpu, std::int64_t head_dim) {
  const std::int64_t kv_rows = head_dim <= 64 ? 256 : head_dim <= 128 ? 128 : 64;
  const std::int64_t bytes = 2 * head_dim * (kTileRows + 2 * kv_rows);
  return static_cast<double>(
      std::max<std::int64_t>(1, gpu.shared_memory_per_sm.count() / std::max<std::int64_t>(1, bytes)));
}

// A layer that shares KV reads what it does not keep.
double bytes_read_per_token(LayerGroup group, std::int64_t tp, model::ElementType dtype) {
  group.shares_kv = false;
  return token_bytes(group, {tp, 1, dtype});
}

// Shares of a sum; a sum of nothing has one part.
std::vector<double> shares(std::vector<double> parts) {
  double sum = 0;
  for (const double part : parts) sum += part;
  for (double& part : parts) part = sum > 0 ? part / sum : 0;
  return parts;
}

}  // namespace

AttentionTime::Group::Group(const LayerGroup& g, const model::GpuSpec& gpu, const Calibration& c, std::int64_t tp,
                            model::ElementType kv_dtype)
    : layers(static_cast<double>(g.layers())),
      attends(g.attends()),
      latent(g.latent),
      window(g.kind == LayerKind::sliding_window || g.kind == LayerKind::chunked_attention
                 ? static_cast<double>(g.window.count())
                 : 0),
      query_heads(std::max<std::int64_t>(1, g.query_heads / tp)),
      kv_heads(g.latent || !g.attends() ? 1 : model::kv_heads_per_gpu(g.kv_heads, tp)),
      pairs_per_tile(static_cast<double>(kTileRows) / static_cast<double>(query_heads)),
      wave_rows(static_cast<double>(gpu.sm_count) * pairs_per_tile),
      decode_flops_per_pair(2 * static_cast<double>(query_heads * (g.latent ? 2 * g.d_k : g.d_k + g.d_v)) /
                            static_cast<double>(g.stride)),
      flops_per_pair(g.latent && g.head_k > 0
                         ? 2 * static_cast<double>(query_heads * (g.head_k + g.head_v)) / static_cast<double>(g.stride)
                         : decode_flops_per_pair),
      kv_bytes_per_token(g.attends() ? bytes_read_per_token(g, tp, kv_dtype) : 0),
      query_bytes_per_token(kActivationBytes *
                            static_cast<double>(query_heads * (g.latent && g.head_k > 0 ? g.head_k + g.head_v
                                                               : g.latent               ? 2 * g.d_k
                                                                                        : g.d_k + g.d_v))),
      state_bytes(2 * static_cast<double>(model::state_bytes(g, tp).count())),
      whole_streams(query_heads == kv_heads),
      stream_s_per_token(c.stream_bytes_per_s > 0 && gpu.attention_kernel == model::AttentionKernel::flash_attention_2
                             ? static_cast<double>(g.d_k + g.d_v) * model::bytes_per_element(kv_dtype) /
                                   c.stream_bytes_per_s
                             : 0),
      streams_at_once(blocks_per_sm(gpu, g.d_k) * static_cast<double>(gpu.sm_count)),
      mixed_decode_bytes(
          g.latent ? 1
                   : mixed_decode_bytes_of(gpu, c, static_cast<double>(query_heads) / static_cast<double>(kv_heads))) {}

AttentionTime::AttentionTime(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& c,
                             std::int64_t tp, model::ElementType kv_dtype, std::int64_t largest_graph,
                             double decode_slowdown, std::optional<model::Stage> stage)
    : roofline_(gpu, c),
      form_(c.attention_form),
      occupancy_(c.prefill_occupancy && gpu.attention_kernel == model::AttentionKernel::flash_attention_2),
      sm_count_(gpu.sm_count),
      largest_graph_(largest_graph),
      decode_s_per_byte_(1 / (c.decode_memory_efficiency * gpu.memory_bandwidth_bytes_per_s)),
      prefill_s_per_flop_(1 / (c.prefill_compute_efficiency * gpu.bf16_flops_per_s)),
      prefill_s_per_byte_(
          c.prefill_memory_efficiency > 0 ? 1 / (c.prefill_memory_efficiency * gpu.memory_bandwidth_bytes_per_s) : 0),
      decode_slowdown_(decode_slowdown),
      decode_overhead_s_(c.decode_overhead_s),
      prefill_overhead_s_(c.prefill_overhead_s),
      whole_overhead_s_(std::max(std::min(c.decode_overhead_s, c.prefill_overhead_s),
                                 c.decode_overhead_s - c.prefill_overhead_s / (1 + decode_slowdown))) {
  std::vector<double> flops;
  std::vector<double> bytes;
  for (const LayerGroup& group : layer_groups(spec, stage.value_or(model::whole_model(spec)))) {
    groups_.emplace_back(group, gpu, c, tp, kv_dtype);
    const Group& made = groups_.back();
    flops.push_back(made.attends ? made.layers * made.flops_per_pair : 0);
    bytes.push_back(made.layers * made.kv_bytes_per_token);
  }
  flop_shares_ = shares(std::move(flops));
  byte_shares_ = shares(std::move(bytes));
}

Seconds AttentionTime::seconds(const StepWork& work) const {
  Seconds seconds = 0;
  for (const Group& group : groups_) seconds += group.layers * layer(group, work);
  return seconds;
}

Seconds AttentionTime::layer(const Group& group, const StepWork& work) const {
  Seconds seconds = 0;
  if (group.attends) {
    if (work.decode_sequences > 0) seconds += (1 + decode_slowdown_) * decode(group, work);
    if (work.prefill_tokens > 0) seconds += prefill(group, work);
  }
  if (group.state_bytes > 0) {
    const auto sequences = static_cast<double>(work.decode_sequences + work.prefill_sequences);
    const double bytes = sequences * group.state_bytes;
    seconds += form_ == AttentionForm::as_gemm ? roofline_.kernel(0, bytes)
                                               : bytes * decode_s_per_byte_ + (group.attends ? 0 : decode_overhead_s_);
  }
  return seconds;
}

double AttentionTime::pairs(std::int64_t fresh, std::int64_t context) const {
  double mean = 0;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (flop_shares_[i] > 0) mean += flop_shares_[i] * groups_[i].pairs(fresh, context, occupancy_, sm_count_);
  }
  return mean;
}

std::int64_t AttentionTime::kv_tokens(std::int64_t fresh, std::int64_t context) const {
  double mean = 0;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const double before = groups_[i].reach(static_cast<double>(context));
    mean += byte_shares_[i] * (static_cast<double>(fresh) + before);
  }
  return std::llround(mean);
}

double AttentionTime::Group::pairs(std::int64_t fresh, std::int64_t context, bool occupancy,
                                   std::int64_t sm_count) const {
  const double n = static_cast<double>(fresh);
  const double c = static_cast<double>(context);
  const auto ends = [&](double rows) { return window > 0 && c + rows > window; };
  // Of `rows` rows of which the last ones see no more than the window.
  const auto windowed = [&](double rows) {
    const double rising = std::max(0.0, window - c);
    return rising * c + rising * rising / 2 + (rows - rising) * window;
  };
  if (!occupancy) return ends(n) ? windowed(n) : n * c + n * n / 2;
  const auto mean = [&](double rows) { return ends(rows) ? windowed(rows) / rows : c + rows / 2; };
  const std::int64_t row_tiles = (fresh * query_heads + kv_heads * kTileRows - 1) / (kv_heads * kTileRows);
  const std::int64_t tiles = kv_heads * row_tiles;
  const std::int64_t idle = (tiles + sm_count - 1) / sm_count * sm_count - tiles;
  const double rows = static_cast<double>(tiles) * pairs_per_tile;  // fresh, padded to whole tiles
  return pairs_per_tile *
         (static_cast<double>(tiles) * mean(rows) + static_cast<double>(idle) * mean(std::min(rows, wave_rows)));
}

Seconds AttentionTime::decode(const Group& g, const StepWork& work) const {
  const bool beside_chunk = work.prefill_tokens > 0;
  const auto sequences = static_cast<double>(work.decode_sequences);
  double kv_tokens = static_cast<double>(work.decode_kv_tokens);
  if (g.window > 0) kv_tokens = std::min(kv_tokens, sequences * g.window);
  const double bytes_once = kv_tokens * g.kv_bytes_per_token;
  const double bytes = beside_chunk ? bytes_once * g.mixed_decode_bytes : bytes_once;
  const double flops = g.decode_flops_per_pair * kv_tokens;
  if (form_ == AttentionForm::as_gemm) return roofline_.kernel(flops, bytes);
  if (g.latent) return std::max(bytes * decode_s_per_byte_, flops * prefill_s_per_flop_) + decode_overhead_s_;
  const Seconds reading = bytes * decode_s_per_byte_;
  if (g.stream_s_per_token == 0) return reading + decode_overhead_s_;
  const double longest = g.reach(static_cast<double>(work.decode_longest));
  Seconds seconds = reading;
  if (g.whole_streams || fills_gpu(g, work.decode_sequences)) {
    const Streams streams{sequences, static_cast<double>(g.kv_heads), kv_tokens, longest};
    seconds = by_streams(g, streams, bytes_once * decode_s_per_byte_);
  }
  if (!beside_chunk) return seconds + (g.whole_streams ? whole_overhead_s_ : decode_overhead_s_);
  // More streams share the tail better, but a chunk makes no step shorter.
  const Streams streams{sequences, static_cast<double>(g.query_heads), kv_tokens, longest};
  return std::max(seconds, by_streams(g, streams, reading)) + whole_overhead_s_;
}

bool AttentionTime::fills_gpu(const Group& g, std::int64_t sequences) const {
  const auto in_graph = static_cast<double>(padded_tokens(sequences, largest_graph_));
  return in_graph * static_cast<double>(g.kv_heads) >= kFilled * static_cast<double>(sm_count_);
}

Seconds AttentionTime::by_streams(const Group& g, const Streams& s, Seconds reading) {
  const double all = s.sequences * s.heads;
  const double at_once = std::min(all, g.streams_at_once);
  const double read = s.kv_tokens / s.sequences * std::min(all / at_once, 1 + s.sequences / (2 * g.streams_at_once));
  return std::max(reading, s.kv_tokens * s.heads / at_once * g.stream_s_per_token) +
         std::max(0.0, s.longest - read) * g.stream_s_per_token;
}

Seconds AttentionTime::prefill(const Group& g, const StepWork& work) const {
  const double flops = g.flops_per_pair * work.prefill_pairs;
  const double bytes = static_cast<double>(work.prefill_tokens) * g.query_bytes_per_token +
                       static_cast<double>(work.prefill_kv_tokens) * g.kv_bytes_per_token;
  if (form_ == AttentionForm::as_gemm) return roofline_.kernel(flops, bytes);
  return flops * prefill_s_per_flop_ + bytes * prefill_s_per_byte_ + prefill_overhead_s_;
}

}  // namespace blockyard::cost
