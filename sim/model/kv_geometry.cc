#include "sim/model/kv_geometry.h"

#include <algorithm>
#include <cmath>

namespace blockyard::model {
namespace {

// MLA with an indexer keeps fp8 latents in a form of its own: 512 bytes of fp8, 16 of scales, 64 rotary elements in
// bf16.
constexpr double kFp8SparseLatentBytes = 656;

bool windowed(const LayerGroup& group) {
  return group.kind == LayerKind::sliding_window || group.kind == LayerKind::chunked_attention;
}

template <class PerGroup>
Bytes sum(const KvGeometry& geometry, const PerGroup& per_layer) {
  double bytes = 0;
  for (const LayerGroup& group : geometry) bytes += static_cast<double>(group.layers()) * per_layer(group);
  return Bytes(std::llround(bytes));
}

}  // namespace

double token_bytes(const LayerGroup& group, const KvSplit& split) {
  if (!group.attends() || group.shares_kv) return 0;
  const double heads = group.latent ? 1 : static_cast<double>(kv_heads_per_gpu(group.kv_heads, split.tp));
  double entry = heads * static_cast<double>(group.d_k + group.d_v) * bytes_per_element(split.dtype);
  if (group.latent && group.index_bytes > 0 && group.stride == 1 && split.dtype == ElementType::fp8) {
    entry = kFp8SparseLatentBytes;
  }
  entry += static_cast<double>(group.index_bytes);
  return entry / static_cast<double>(group.stride) / static_cast<double>(split.dcp);
}

Bytes state_bytes(const LayerGroup& group, std::int64_t tp) {
  const RecurrentState& s = group.state;
  const std::int64_t divisor = group.attends() ? 1 : tp;
  // Groups that tp does not divide are copied, so that each rank has whole ones.
  const std::int64_t groups_here = s.groups == 0 || s.groups % divisor == 0 ? s.groups / divisor : s.groups;
  const std::int64_t group_elements =
      s.groups == 0 ? 0 : s.conv_group_elements / s.groups * std::max<std::int64_t>(1, groups_here);
  const std::int64_t conv = (s.conv_elements - s.conv_group_elements) / divisor + group_elements;
  const std::int64_t elements = s.elements / divisor;
  return Bytes(std::llround(static_cast<double>(elements) * bytes_per_element(s.type) +
                            static_cast<double>(conv) * bytes_per_element(s.conv_type)));
}

Bytes kv_bytes_per_token(const KvGeometry& geometry, const KvSplit& split) {
  return sum(geometry, [&](const LayerGroup& group) { return token_bytes(group, split); });
}

Bytes kv_bytes_per_token_beyond_windows(const KvGeometry& geometry, const KvSplit& split) {
  return sum(geometry, [&](const LayerGroup& group) { return windowed(group) ? 0 : token_bytes(group, split); });
}

Bytes fixed_bytes_per_sequence(const KvGeometry& geometry, const KvSplit& split) {
  return sum(geometry,
             [&](const LayerGroup& group) { return static_cast<double>(state_bytes(group, split.tp).count()); });
}

Bytes window_bytes(const KvGeometry& geometry, const KvSplit& split) {
  return sum(geometry, [&](const LayerGroup& group) {
    return windowed(group) ? static_cast<double>(group.window.count()) * token_bytes(group, split) : 0;
  });
}

Bytes sequence_bytes(const KvGeometry& geometry, const KvSplit& split, Tokens tokens) {
  return sum(geometry, [&](const LayerGroup& group) {
    const Tokens kept = windowed(group) ? std::min(tokens, group.window) : tokens;
    return static_cast<double>(kept.count()) * token_bytes(group, split) +
           static_cast<double>(state_bytes(group, split.tp).count());
  });
}

}  // namespace blockyard::model
