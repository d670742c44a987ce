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

// How a model is spread over the GPUs of a replica.
struct Parallelism {
  std::int64_t tensor = 1;
  // Experts whole on one GPU each, instead of a slice of every expert on every GPU.
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

  [[nodiscard]] Seconds layers(std::int64_t tokens) const;  // all of them; 0 tokens: 0
  [[nodiscard]] Seconds head(std::int64_t rows) const;      // 0 rows: 0

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
  [[nodiscard]] Seconds mlp(const Mlp& mlp, double tokens) const;
  [[nodiscard]] Seconds elementwise(const LayerClass& layer, double tokens) const;
  [[nodiscard]] Seconds collectives(const LayerClass& layer, double tokens) const;
  // A GEMM over matrices of the checkpoint, in their format.
  [[nodiscard]] Seconds gemm(model::Matrices matrices, double groups, double rows, double n, double k) const;

  GemmRoofline roofline_;             // 16-bit: router, output head
  GemmRoofline weights_;              // matrices in the checkpoint's format
  std::vector<double> weight_bytes_;  // of an element, by Matrices
  AllReduce all_reduce_;
  std::int64_t tp_;
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
