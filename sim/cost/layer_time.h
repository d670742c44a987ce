// Everything of a step but attention: the layers' GEMMs, elementwise kernels and collectives as a function of the
// step's new tokens, and output head and sampler as a function of the sampled rows. Computed directly, O(1) but with
// powers: the roofline keeps tables of it.
#pragma once

#include <cstdint>

#include "sim/cost/kernels.h"
#include "sim/model/model_spec.h"

namespace blockyard::cost {

// How a model is spread over the GPUs of a replica.
struct Parallelism {
  std::int64_t tensor = 1;
  // Experts whole on one GPU each, instead of a slice of every expert on every GPU.
  bool experts = false;
  GpuLinks links = GpuLinks::own;
};

class LayerTime {
 public:
  // Steps of at most `largest_graph` tokens run in a CUDA graph and are padded to its size (cuda_graphs.h); 0 = no
  // graphs, all-reduces are launched one by one.
  LayerTime(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration,
            const Parallelism& parallelism, std::int64_t largest_graph);

  [[nodiscard]] Seconds layers(std::int64_t tokens) const;  // all layers of the model; 0 tokens: 0
  [[nodiscard]] Seconds head(std::int64_t rows) const;      // 0 rows: 0

 private:
  [[nodiscard]] Seconds attention_projections(double tokens) const;
  [[nodiscard]] Seconds mlp(double tokens) const;
  [[nodiscard]] Seconds elementwise(double tokens) const;
  [[nodiscard]] Seconds collectives(double tokens) const;

  GemmRoofline roofline_;  // 16-bit: router, output head
  GemmRoofline weights_;   // the layers' matrices
  AllReduce all_reduce_;
  std::int64_t tp_;
  bool expert_parallel_;
  std::int64_t largest_graph_;
  std::int64_t layers_;
  std::int64_t experts_;
  std::int64_t experts_per_token_;
  // Per GPU, in elements.
  double hidden_;
  double query_;
  double key_value_;
  double intermediate_;
  double up_;  // intermediate_ once, or twice with a gate
  double vocab_;
  double weight_bytes_;
  bool separate_elementwise_;
  Seconds elementwise_overhead_s_;
  Seconds sampler_overhead_s_;
  double peak_bytes_per_s_;
};

}  // namespace blockyard::cost
