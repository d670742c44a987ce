// Everything of a step but attention: the layers' GEMMs, elementwise kernels and all-reduces as a function of the
// step's new tokens, and the output head as a function of the sampled rows. Computed directly, O(1) but with powers:
// the roofline keeps tables of it.
#pragma once

#include <cstdint>

#include "sim/cost/kernels.h"
#include "sim/model/model_spec.h"

namespace blockyard::cost {

class LayerTime {
 public:
  LayerTime(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration, std::int64_t tp);

  [[nodiscard]] Seconds layers(std::int64_t tokens) const;  // all layers of the model; 0 tokens: 0
  [[nodiscard]] Seconds head(std::int64_t rows) const;      // 0 rows: 0

 private:
  [[nodiscard]] Seconds attention_projections(double tokens) const;
  [[nodiscard]] Seconds mlp(double tokens) const;
  [[nodiscard]] Seconds elementwise(double tokens) const;

  GemmRoofline roofline_;
  AllReduce all_reduce_;
  std::int64_t tp_;
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
  bool elementwise_as_gemm_;
  Seconds elementwise_overhead_s_;
  double peak_bytes_per_s_;
};

}  // namespace blockyard::cost
