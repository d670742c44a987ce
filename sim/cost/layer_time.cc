#include "sim/cost/layer_time.h"

#include <algorithm>

#include "sim/cost/cuda_graphs.h"

namespace blockyard::cost {
namespace {

using model::LayerGroup;
using model::Matrices;
using model::MlpGroup;

constexpr double kHeadBytes = 2;  // quantised checkpoints keep the output head in 16 bits
// A fused elementwise kernel finds part of its input in the L2 cache: measured on compiled layers.
constexpr double kFusedOverPeakBandwidth = 1.7;
// Of a mixer that is not plain attention: MLA's two low ranks in, the latent unfolded for keys and for values, o;
// a recurrence's projection in and out.
constexpr double kLatentKernels = 5;
constexpr double kRecurrentKernels = 2;

double real(std::int64_t value) { return static_cast<double>(value); }

std::vector<double> bytes_of_matrices(const model::ModelSpec& spec) {
  std::vector<double> bytes;
  for (const Matrices m :
       {Matrices::attention, Matrices::recurrent, Matrices::mlp, Matrices::shared_experts, Matrices::experts}) {
    bytes.push_back(bytes_per_weight(spec, m));
  }
  return bytes;
}

}  // namespace

LayerTime::LayerTime(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration,
                     const Parallelism& p, std::int64_t largest_graph, std::optional<model::Stage> stage)
    : roofline_(gpu, calibration),
      weights_(GemmRoofline::for_weights(gpu, calibration, spec)),
      weight_bytes_(bytes_of_matrices(spec)),
      all_reduce_(all_reduce_for(calibration, gpu, p.tensor, p.links, largest_graph == 0).constants),
      between_replicas_(
          all_reduce_for(calibration, gpu, std::max<std::int64_t>(2, p.data), p.links, largest_graph == 0).constants),
      tp_(p.tensor),
      replicas_(p.data),
      expert_parallel_(p.experts && p.tensor * p.data > 1),
      largest_graph_(largest_graph),
      hidden_(real(spec.hidden_size)),
      vocab_(real(spec.vocab_size) / real(p.tensor)),
      classes_(classes_of(spec, stage.value_or(model::whole_model(spec)))),
      separate_elementwise_(calibration.elementwise_form == ElementwiseForm::separate),
      elementwise_overhead_s_(calibration.elementwise_overhead_s),
      sampler_overhead_s_(calibration.sampler_overhead_s),
      peak_bytes_per_s_(gpu.memory_bandwidth_bytes_per_s) {}

LayerTime::Mixer LayerTime::mixer_of(const model::ModelSpec& spec, const LayerGroup& group) const {
  Mixer mixer;
  const double tp = real(tp_);
  if (!group.attends()) {
    mixer.matrices = Matrices::recurrent;
    mixer.kernels = kRecurrentKernels;
    mixer.elements = real(group.weights.split) / tp;
    return mixer;
  }
  const std::int64_t heads = group.query_heads / tp_;
  if (group.latent) {
    mixer.kernels = kLatentKernels;
    mixer.elements = real(group.weights.split) / tp + real(group.weights.replicated);
    mixer.rotated = real(heads * group.d_k);
    return mixer;
  }
  const std::int64_t kv_heads = model::kv_heads_per_gpu(group.kv_heads, tp_);
  const double query = real(heads * group.d_k);
  mixer.in = group.shares_kv ? query : query + real(kv_heads * (group.d_k + group.d_v));
  mixer.out = real(heads * group.d_v);
  mixer.rotated = group.shares_kv ? query : query + real(kv_heads * group.d_k);
  // A gate as wide as the queries comes out of the same matrix.
  const double gate = real(group.weights.split) / (tp * real(spec.hidden_size)) - query - mixer.out;
  if (gate > query / 2) mixer.in += query;
  return mixer;
}

LayerTime::Mlp LayerTime::mlp_of(const model::ModelSpec& spec, const MlpGroup& group) const {
  Mlp mlp;
  const double ups = group.gated ? 2 : 1;
  const double slices = !group.is_moe() ? real(tp_) : expert_parallel_ ? 1 : real(tp_ * replicas_);
  mlp.intermediate = real(group.intermediate_size) / slices;
  mlp.up = ups * mlp.intermediate;
  mlp.shared_intermediate = real(group.shared_intermediate_size) / real(tp_);
  mlp.shared_up = ups * mlp.shared_intermediate;
  mlp.hidden = real(group.expert_hidden_size > 0 ? group.expert_hidden_size : spec.hidden_size);
  mlp.experts = group.experts;
  mlp.experts_per_token = group.experts_per_token;
  return mlp;
}

LayerKinds layer_kinds(const model::ModelSpec& spec, const model::Stage& stage) {
  const std::vector<LayerGroup> mixers = layer_groups(spec);
  const std::vector<MlpGroup> mlps = mlp_groups(spec);
  LayerKinds kinds;
  const auto in = [](const auto& groups, std::int32_t layer) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (std::binary_search(groups[i].where.begin(), groups[i].where.end(), layer)) found.push_back(i);
    }
    return found;
  };
  for (auto layer = static_cast<std::int32_t>(stage.first); layer < stage.last; ++layer)
    ++kinds[{in(mixers, layer), in(mlps, layer)}];
  return kinds;
}

std::vector<LayerTime::LayerClass> LayerTime::classes_of(const model::ModelSpec& spec,
                                                         const model::Stage& stage) const {
  const std::vector<LayerGroup> mixers = layer_groups(spec);
  const std::vector<MlpGroup> mlps = mlp_groups(spec);
  std::vector<LayerClass> classes;
  for (const auto& [kind, count] : layer_kinds(spec, stage)) {
    LayerClass made;
    made.layers = real(count);
    for (const std::size_t i : kind.first) made.mixers.push_back(mixer_of(spec, mixers[i]));
    for (const std::size_t i : kind.second) made.mlps.push_back(mlp_of(spec, mlps[i]));
    classes.push_back(std::move(made));
  }
  return classes;
}

std::int64_t LayerTime::padded(std::int64_t tokens) const { return padded_tokens(tokens, largest_graph_); }

Seconds LayerTime::layers(std::int64_t tokens) const {
  if (tokens == 0) return 0;
  const double m = real(padded(tokens));
  Seconds seconds = 0;
  for (const LayerClass& layer : classes_) {
    Seconds mlps = 0;
    for (const Mlp& each : layer.mlps) mlps += mlp(each, real(tokens), m);
    seconds += layer.layers * (projections(layer, m) + mlps + elementwise(layer, m) + collectives(layer, m));
  }
  return seconds;
}

Seconds LayerTime::routed(std::int64_t tokens_of_all, std::int64_t rows_of_all) const {
  const double m = real(rows_of_all);
  Seconds seconds = 0;
  for (const LayerClass& layer : classes_) {
    for (const Mlp& each : layer.mlps) {
      if (each.experts == 0) continue;
      Seconds one = 0;
      add_experts(one, each, real(tokens_of_all), m);
      const double activation = kActivationBytes * expert_rows(each, m) * (each.up + each.intermediate);
      one += separate_elementwise_ ? roofline_.kernel(0, activation)
                                   : activation / (kFusedOverPeakBandwidth * peak_bytes_per_s_);
      // Both halves of an all-reduce of what all replicas have, each launched for itself.
      one += between_replicas_.latency_s +
             all_reduce_seconds(between_replicas_, replicas_, kActivationBytes * m * each.hidden);
      seconds += layer.layers * one;
    }
  }
  return seconds;
}

// The vocabulary is split over the ranks, whose logits are then gathered; the sampler reads the logits of every row
// twice, in 4 bytes each.
Seconds LayerTime::head(std::int64_t rows) const {
  if (rows == 0) return 0;
  const double m = real(rows);
  const double gpus = real(tp_);
  Seconds seconds = roofline_.gemm(1, m, vocab_, hidden_, kHeadBytes);
  if (tp_ > 1) {
    const double bytes = kActivationBytes * m * vocab_ * (gpus - 1);
    seconds += all_reduce_.latency_s + bytes / all_reduce_.bus_bandwidth_bytes_per_s;
  }
  return seconds + sampler_overhead_s_ + 2 * 4 * m * vocab_ * gpus / peak_bytes_per_s_;
}

// An all-reduce of the residual stream behind the mixer and one behind the MLP; experts that are whole on one GPU take
// their tokens and give them back instead of the second: (n - 1) / n of the rows' k copies each way, for the 1 / n of
// the tokens a GPU is in charge of.
Seconds LayerTime::collectives(const LayerClass& layer, double tokens) const {
  if (tp_ == 1) return 0;
  const double bytes = kActivationBytes * tokens * hidden_;
  const Seconds one = all_reduce_seconds(all_reduce_, tp_, bytes);
  const auto routed =
      std::find_if(layer.mlps.begin(), layer.mlps.end(), [](const Mlp& each) { return each.experts > 0; });
  // Of replicas the sums are scattered to each, whose ranks then add theirs up.
  if (!expert_parallel_ || replicas_ > 1 || routed == layer.mlps.end()) return layer.parts() * one;
  const double gpus = real(tp_);
  const double there = bytes * real(routed->experts_per_token) / gpus * (gpus - 1) / gpus;
  return (layer.parts() - 1) * one + 2 * (all_reduce_.latency_s + there / all_reduce_.bus_bandwidth_bytes_per_s);
}

Seconds LayerTime::gemm(Matrices matrices, double groups, double rows, double n, double k) const {
  const double bytes = weight_bytes_[static_cast<std::size_t>(matrices)];
  return (bytes < 2 ? weights_ : roofline_).gemm(groups, rows, n, k, bytes);
}

Seconds LayerTime::projections(const LayerClass& layer, double tokens) const {
  Seconds seconds = 0;
  for (const Mixer& mixer : layer.mixers) {
    seconds +=
        mixer.kernels > 0
            ? mixer.kernels * gemm(mixer.matrices, 1, tokens, mixer.elements / (mixer.kernels * hidden_), hidden_)
            : gemm(mixer.matrices, 1, tokens, mixer.in, hidden_) + gemm(mixer.matrices, 1, tokens, hidden_, mixer.out);
  }
  return seconds;
}

// Evenly routed.
double LayerTime::expert_rows(const Mlp& m, double rows) const {
  return expert_share() * rows * real(m.experts_per_token);
}

void LayerTime::add_experts(Seconds& seconds, const Mlp& m, double tokens, double rows) const {
  const double touched = expert_share() * distinct_experts(tokens, m.experts_per_token, m.experts);
  const double routed = expert_rows(m, rows);
  seconds += gemm(Matrices::experts, touched, routed, m.up, m.hidden);
  seconds += gemm(Matrices::experts, touched, routed, m.hidden, m.intermediate);
}

Seconds LayerTime::mlp(const Mlp& m, double tokens, double rows) const {
  if (m.experts == 0) {
    return gemm(Matrices::mlp, 1, rows, m.up, hidden_) + gemm(Matrices::mlp, 1, rows, hidden_, m.intermediate);
  }
  Seconds seconds = roofline_.gemm(1, rows, real(m.experts), hidden_, kActivationBytes);
  if (replicas_ == 1) add_experts(seconds, m, tokens, rows);
  if (m.hidden != hidden_) {  // down to the experts' width and back
    seconds += roofline_.gemm(1, rows, m.hidden, hidden_, kActivationBytes) +
               roofline_.gemm(1, rows, hidden_, m.hidden, kActivationBytes);
  }
  if (m.shared_intermediate > 0) {
    seconds += gemm(Matrices::shared_experts, 1, rows, m.shared_up, hidden_) +
               gemm(Matrices::shared_experts, 1, rows, hidden_, m.shared_intermediate);
  }
  return seconds;
}

// Of the mixer and of the MLP each: a norm and an addition; rotary positions; the MLP's activation.
Seconds LayerTime::elementwise(const LayerClass& layer, double tokens) const {
  double rotary = 0;
  for (const Mixer& mixer : layer.mixers) rotary += 2 * tokens * mixer.rotated;
  double activation = 0;
  for (const Mlp& m : layer.mlps) {
    // Of replicas routed() has those of the experts.
    const double rows = m.experts == 0 ? tokens : replicas_ > 1 ? 0 : expert_rows(m, tokens);
    activation += rows * (m.up + m.intermediate) + tokens * (m.shared_up + m.shared_intermediate);
  }
  const double parts = layer.parts();
  if (!separate_elementwise_) {
    const double elements = 4 * parts * tokens * hidden_ + rotary + activation;
    return kActivationBytes * elements / (kFusedOverPeakBandwidth * peak_bytes_per_s_) +
           2 * parts * elementwise_overhead_s_;
  }
  const double norm = 2 * tokens * hidden_;
  const double add = 3 * tokens * hidden_;
  Seconds seconds = 0;
  for (double i = 0; i < parts; ++i) seconds += roofline_.kernel(0, kActivationBytes * norm);
  for (double i = 0; i < parts; ++i) seconds += roofline_.kernel(0, kActivationBytes * add);
  if (!layer.mixers.empty()) seconds += roofline_.kernel(0, kActivationBytes * rotary);
  if (activation > 0) seconds += roofline_.kernel(0, kActivationBytes * activation);
  return seconds;
}

}  // namespace blockyard::cost
