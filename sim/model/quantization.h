// How a checkpoint's weights are quantised: which matrices, and the bytes an element takes with its scales. Embeddings,
// norms and biases keep the model's own format, and so do the modules named as exceptions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/model/element_type.h"

namespace blockyard::model {

struct Quantization {
  std::string method;             // as quantization_config names it
  double bytes_per_weight = 1;    // scales and zero points included
  std::vector<std::string> kept;  // names or patterns of modules that are not quantised
  bool experts_only = false;      // mxfp4 checkpoints quantise routed experts alone
  bool output_head = false;       // the output head too
  // What activations are brought to for a GEMM (fp8, int8, nvfp4); none: they stay, and weights are converted to them.
  std::optional<ElementType> activations;
};

// Share of the layers (0 to 1) whose `module` ("self_attn", "mlp.gate", ...) keeps its own format. An exception without
// a layer's number holds for all of them.
[[nodiscard]] double kept_share(const Quantization& q, const std::string& module, long layers);

}  // namespace blockyard::model
