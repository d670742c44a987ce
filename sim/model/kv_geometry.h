// What a token leaves in the KV cache: a list of groups of like layers. A layer keeps kv_heads x (d_k + d_v) elements a
// token; tensor parallelism divides kv_heads, replicating one head where tp > kv_heads. A windowed layer counts like a
// full one here: that is what it takes while the sequence is inside its window, and what engines without a hybrid
// memory manager reserve for it beyond.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/quantities.h"
#include "sim/model/element_type.h"
#include "sim/model/model_spec.h"

namespace blockyard::model {

enum class LayerKind { full_attention, sliding_window };

struct LayerGroup {
  LayerKind kind = LayerKind::full_attention;
  std::int64_t layers = 0;
  std::int64_t kv_heads = 0;
  std::int64_t d_k = 0;  // elements of a key, of a value
  std::int64_t d_v = 0;
  Tokens window;  // of a sliding_window layer
};

using KvGeometry = std::vector<LayerGroup>;

[[nodiscard]] KvGeometry kv_geometry(const ModelSpec& spec);

// On one GPU. tp divides kv_heads or kv_heads divides tp (check_tensor_parallel).
[[nodiscard]] Bytes kv_bytes_per_token(const KvGeometry& geometry, std::int64_t tp, ElementType dtype);

}  // namespace blockyard::model
