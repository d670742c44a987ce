#include "sim/model/kv_geometry.h"

#include <cmath>

namespace blockyard::model {

KvGeometry kv_geometry(const ModelSpec& spec) {
  LayerGroup group;
  group.kind = spec.sliding_window > 0 ? LayerKind::sliding_window : LayerKind::full_attention;
  group.layers = spec.num_hidden_layers;
  group.kv_heads = spec.num_key_value_heads;
  group.d_k = spec.head_dim;
  group.d_v = spec.head_dim;
  group.window = Tokens(spec.sliding_window);
  return {group};
}

Bytes kv_bytes_per_token(const KvGeometry& geometry, std::int64_t tp, ElementType dtype) {
  double bytes = 0;
  for (const LayerGroup& group : geometry) {
    const std::int64_t elements = group.layers * kv_heads_per_gpu(group.kv_heads, tp) * (group.d_k + group.d_v);
    bytes += static_cast<double>(elements) * bytes_per_element(dtype);
  }
  return Bytes(std::llround(bytes));
}

}  // namespace blockyard::model
