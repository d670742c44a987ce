// What a model's weights take. parameter_count and the bytes follow from the groups of layers: embedding (once more for
// the output head unless tied), token mixers, MLPs, experts with their router, norms and biases; checked against
// published counts. A quantised checkpoint (quantization.h) shrinks matrices alone.
//
// A rank: matrices are split over tp; k and v are replicated where tp > kv heads; norms, routers, MLA's low-rank inputs
// are on every one. Routed experts are spread over the ranks of all `replicas`, whole or in slices. A pipeline stage
// holds consecutive layers, the first stage also the embedding, the last one the head.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/quantities.h"
#include "sim/model/model_spec.h"

namespace blockyard::model {

// Layers [first, last) of a pipeline stage.
struct Stage {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool embeds = true;   // holds the embedding
  bool samples = true;  // holds the output head

  [[nodiscard]] std::int64_t layers() const { return last - first; }
};

// As the engine cuts a model: equal parts, a remainder's layers one each to the stages before the last, from its end.
[[nodiscard]] std::vector<Stage> pipeline_stages(std::int64_t num_hidden_layers, std::int64_t pp);
[[nodiscard]] inline Stage whole_model(const ModelSpec& spec) { return {0, spec.num_hidden_layers, true, true}; }
// The groups of the model, each cut to the layers of the stage; of some nothing may be left.
[[nodiscard]] std::vector<LayerGroup> layer_groups(const ModelSpec& spec, const Stage& stage);

// Routed experts in some of its layers.
[[nodiscard]] bool mixes_experts(const ModelSpec& spec);

struct WeightPart {
  const char* name;
  double elements = 0;
  double bytes = 0;
};

[[nodiscard]] std::vector<WeightPart> weight_parts(const ModelSpec& spec, std::int64_t tp, const Stage& stage,
                                                   std::int64_t replicas = 1);

// The matrices of a layer, as quantised checkpoints tell them apart.
enum class Matrices { attention, recurrent, mlp, shared_experts, experts };
// Bytes of one of their elements, scales included, over all layers: some may keep the model's own format.
[[nodiscard]] double bytes_per_weight(const ModelSpec& spec, Matrices matrices);

[[nodiscard]] std::int64_t parameter_count(const ModelSpec& spec);
// Parameters that one token uses: experts_per_token of the routed experts.
[[nodiscard]] std::int64_t active_parameter_count(const ModelSpec& spec);
[[nodiscard]] Bytes weight_bytes(const ModelSpec& spec);
[[nodiscard]] Bytes weight_bytes_per_gpu(const ModelSpec& spec, std::int64_t tp);
[[nodiscard]] Bytes weight_bytes_per_gpu(const ModelSpec& spec, std::int64_t tp, const Stage& stage,
                                         std::int64_t replicas = 1);

}  // namespace blockyard::model
