// What sequences leave in the KV cache of one rank. An attention layer keeps kv_heads x (d_k + d_v) elements a token;
// tensor parallelism divides kv_heads, replicating one head where tp > kv_heads. MLA keeps its latent whole on every
// rank of tp, and decode context parallelism deals the tokens out over dcp of them. A windowed layer keeps a token
// until the window has left it; a recurrent layer keeps a state, whatever the length; a layer that shares another's KV
// keeps nothing. Exact bytes without an engine's pages: those are kv_layout.h's.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/quantities.h"
#include "sim/model/element_type.h"
#include "sim/model/model_spec.h"

namespace blockyard::model {

using KvGeometry = std::vector<LayerGroup>;

[[nodiscard]] inline KvGeometry kv_geometry(const ModelSpec& spec) { return layer_groups(spec); }

// How the layers are spread over GPUs, and the format of what they keep.
struct KvSplit {
  std::int64_t tp = 1;
  std::int64_t dcp = 1;  // decode context parallelism; divides tp
  ElementType dtype = ElementType::bf16;
};

// One layer of the group on one rank: bytes a token in the cache (0 for a recurrent layer), and those a sequence keeps
// whatever its length.
[[nodiscard]] double token_bytes(const LayerGroup& group, const KvSplit& split);
[[nodiscard]] Bytes state_bytes(const LayerGroup& group, std::int64_t tp);

// All layers, on one rank. Inside the windows every attention layer grows; beyond them only those that look at
// everything do. The fixed part is recurrent state and compressor buffers; a window that is full is counted by
// window_bytes.
[[nodiscard]] Bytes kv_bytes_per_token(const KvGeometry& geometry, const KvSplit& split);
[[nodiscard]] Bytes kv_bytes_per_token_beyond_windows(const KvGeometry& geometry, const KvSplit& split);
[[nodiscard]] Bytes fixed_bytes_per_sequence(const KvGeometry& geometry, const KvSplit& split);
[[nodiscard]] Bytes window_bytes(const KvGeometry& geometry, const KvSplit& split);
// A sequence of `tokens`, exactly: no pages.
[[nodiscard]] Bytes sequence_bytes(const KvGeometry& geometry, const KvSplit& split, Tokens tokens);

[[nodiscard]] inline Bytes kv_bytes_per_token(const KvGeometry& geometry, std::int64_t tp, ElementType dtype) {
  return kv_bytes_per_token(geometry, KvSplit{tp, 1, dtype});
}

}  // namespace blockyard::model
