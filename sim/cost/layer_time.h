// Everything of a step but attention: the layers' GEMMs, elementwise kernels and collectives as a function of the
// step's new tokens, and output head and sampler as a function of the sampled rows. Layers that do the same work are
// one class, so that a model of unlike layers (dense and sparse, attending and recurrent) costs a few terms more.
// Computed directly, O(classes) but with powers: the roofline keeps tables of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/cost/kernels.h"
#include "sim/model/model_spec.h"
#include "sim/model/weights.h"

namespace blockyard::cost {

// How a model is spread over GPUs.
struct Parallelism {
  std::int64_t tensor = 1;
  // Replicas, each with attention, dense layers and router of its own, whose GPUs share the routed experts.
  std::int64_t data = 1;
  // Experts whole on one GPU each, instead of a slice of every expert on every GPU: of all replicas.
  bool experts = false;
  GpuLinks links = GpuLinks::own;
};

// The layers of a stage by the work they do: in which of the model's groups (layer_groups, mlp_groups) a layer is, and
// how many are in the same ones. Stages alike in this take the same time, but for the output head.
using LayerKinds = std::map<std::pair<std::vector<std::size_t>, std::vector<std::size_t>>, std::int64_t>;
[[nodiscard]] LayerKinds layer_kinds(const model::ModelSpec& spec, const model::Stage& stage);

class LayerTime {
 public:
  // Steps of at most `largest_graph` tokens run in a CUDA graph and are padded to its size (cuda_graphs.h); 0 = no
  // graphs, all-reduces are launched one by one. Without a `stage` the layers are those of the whole model.
  LayerTime(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration,
            const Parallelism& parallelism, std::int64_t largest_graph, std::optional<model::Stage> stage = {});

  // All of them; 0 tokens: 0. Of replicas: but for routed(). What a graph pads a step with is computed, but touches no
  // experts of its own.
  [[nodiscard]] Seconds layers(std::int64_t tokens) const;
  // Of replicas: what their experts make of the tokens of all of them, and the way there and back. Every layer's hidden
  // states are gathered on all replicas, each GPU computes its part of the experts over them, and the sums are
  // scattered back: an all-gather and a reduce-scatter, vLLM's default (`allgather_reducescatter`). `rows_of_all`: what
  // graphs pad these tokens to.
  [[nodiscard]] Seconds routed(std::int64_t tokens_of_all, std::int64_t rows_of_all) const;
  // What a step of so many tokens is padded to.
  [[nodiscard]] std::int64_t padded(std::int64_t tokens) const;
  [[nodiscard]] Seconds head(std::int64_t rows) const;  // 0 rows: 0

 private:
  // What follows is per GPU, in elements.

  // Plain attention has one matrix in (q, k, v) and one out. Others (latents, recurrences) are known by the elements of
  // all their matrices: `kernels` like ones are taken, whose FLOPs and weight bytes are right.
  struct Mixer {
    double in = 0;       // columns of q, k and v
    double out = 0;      // rows of o
    double rotated = 0;  // elements of q and k
    double elements = 0;
    double kernels = 0;  // 0: plain
    model::Matrices matrices = model::Matrices::attention;
  };
  struct Mlp {
    double intermediate = 0;
    double up = 0;  // intermediate once, or twice with a gate
    double shared_intermediate = 0;
    double shared_up = 0;
    double hidden = 0;  // width at which experts work
    std::int64_t experts = 0;
    std::int64_t experts_per_token = 0;
  };
  struct LayerClass {
    double layers = 0;
    std::vector<Mixer> mixers;
    std::vector<Mlp> mlps;
    [[nodiscard]] double parts() const { return (mixers.empty() ? 0.0 : 1.0) + (mlps.empty() ? 0.0 : 1.0); }
  };

  [[nodiscard]] std::vector<LayerClass> classes_of(const model::ModelSpec& spec, const model::Stage& stage) const;
  [[nodiscard]] Mixer mixer_of(const model::ModelSpec& spec, const model::LayerGroup& group) const;
  [[nodiscard]] Mlp mlp_of(const model::ModelSpec& spec, const model::MlpGroup& group) const;

  [[nodiscard]] Seconds projections(const LayerClass& layer, double tokens) const;
  // `tokens`: those that choose experts; `rows`: with what the step is padded by.
  [[nodiscard]] Seconds mlp(const Mlp& mlp, double tokens, double rows) const;
  [[nodiscard]] Seconds elementwise(const LayerClass& layer, double tokens) const;
  [[nodiscard]] Seconds collectives(const LayerClass& layer, double tokens) const;
  // The part of the experts, and of the rows that are routed, that a GPU has.
  [[nodiscard]] double expert_share() const { return expert_parallel_ ? 1 / static_cast<double>(tp_ * replicas_) : 1; }
  [[nodiscard]] double expert_rows(const Mlp& mlp, double rows) const;
  // The routed experts' GEMMs, added one by one.
  void add_experts(Seconds& seconds, const Mlp& mlp, double tokens, double rows) const;
  // A GEMM over matrices of the checkpoint, in their format.
  [[nodiscard]] Seconds gemm(model::Matrices matrices, double groups, double rows, double n, double k) const;

  GemmRoofline roofline_;             // 16-bit: router, output head
  GemmRoofline weights_;              // matrices in the checkpoint's format
  std::vector<double> weight_bytes_;  // of an element, by Matrices
  AllReduce all_reduce_;
  AllReduce between_replicas_;
  std::int64_t tp_;
  std::int64_t replicas_;
  bool expert_parallel_;
  std::int64_t largest_graph_;
  double hidden_;
  double vocab_;
  std::vector<LayerClass> classes_;
  bool separate_elementwise_;
  Seconds elementwise_overhead_s_;
  Seconds sampler_overhead_s_;
  double peak_bytes_per_s_;
};

}  // namespace blockyard::cost
