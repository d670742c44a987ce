#include "sim/serving/block_costs.h"

#include <algorithm>

#include "sim/model/weights.h"

namespace blockyard::serving {

std::vector<double> block_costs(const model::ModelSpec& model, Tokens block_size, std::int64_t blocks) {
  const double matrices = 2.0 * static_cast<double>(model::active_parameter_count(model));
  const double attention =
      4.0 * static_cast<double>(model.num_hidden_layers * model.num_attention_heads * model.head_dim);
  const auto cost = [&](std::int64_t place) {
    return matrices + attention * (static_cast<double>(place) + 0.5) * static_cast<double>(block_size.count());
  };
  std::vector<double> costs;
  costs.reserve(static_cast<std::size_t>(std::max<std::int64_t>(blocks, 0)));
  for (std::int64_t place = 0; place < blocks; ++place) costs.push_back(cost(place) / cost(0));
  return costs;
}

}  // namespace blockyard::serving
