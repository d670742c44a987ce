// What it costs to compute a block of a prompt again, by its place, relative to the first: in operations of the model,
// 2 a parameter used and token for its matrices, and for attention 4 a head, head dimension, layer, token and token
// before it. What eviction by cost weighs.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/quantities.h"
#include "sim/model/model_spec.h"

namespace blockyard::serving {

[[nodiscard]] std::vector<double> block_costs(const model::ModelSpec& model, Tokens block_size, std::int64_t blocks);

}  // namespace blockyard::serving
