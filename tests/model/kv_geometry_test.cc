#include "sim/model/kv_geometry.h"

#include <catch2/catch.hpp>

#include "tests/model/published_models.h"

using namespace blockyard;
using namespace blockyard::model;

namespace {

std::int64_t bytes(const ModelSpec& spec, std::int64_t tp = 1, ElementType dtype = ElementType::bf16) {
  return kv_bytes_per_token(kv_geometry(spec), tp, dtype).count();
}

}  // namespace

// Layers x KV heads x (d_k + d_v) x 2 bytes.
TEST_CASE("bytes a token of known models") {
  CHECK(bytes(llama_2_7b()) == 524'288);
  CHECK(bytes(llama_3_8b()) == 131'072);
  CHECK(bytes(llama_3_70b()) == 327'680);
  CHECK(bytes(qwen2_5_7b()) == 57'344);
  CHECK(bytes(qwen3_32b()) == 262'144);  // head_dim 128, not 5120 / 64
  CHECK(bytes(mixtral_8x7b()) == 131'072);
  CHECK(bytes(opt_13b()) == 819'200);
  CHECK(bytes(llama_3_8b(), 1, ElementType::fp8) == 65'536);
}

TEST_CASE("tensor parallelism divides KV heads and replicates them beyond their number") {
  CHECK(bytes(llama_3_8b(), 2) == 131'072 / 2);
  CHECK(bytes(llama_3_8b(), 8) == 131'072 / 8);
  CHECK(bytes(llama_3_8b(), 16) == 131'072 / 8);
  CHECK(bytes(qwen2_5_7b(), 8) == 57'344 / 4);
}

TEST_CASE("groups add up, and keys may be wider than values") {
  LayerGroup full;
  full.where = all_layers(9);
  full.kv_heads = 4;
  full.d_k = 192;
  full.d_v = 128;
  LayerGroup windowed = full;
  windowed.kind = LayerKind::sliding_window;
  windowed.where = all_layers(39);
  windowed.kv_heads = 8;
  windowed.window = Tokens(128);
  const KvGeometry geometry{full, windowed};
  CHECK(kv_bytes_per_token(geometry, 1, ElementType::bf16) == Bytes(222'720));
  CHECK(kv_bytes_per_token_beyond_windows(geometry, KvSplit{}) == Bytes(23'040));
  CHECK(window_bytes(geometry, KvSplit{}) == Bytes(128 * (222'720 - 23'040)));
  CHECK(sequence_bytes(geometry, KvSplit{}, Tokens(100)) == Bytes(100 * 222'720));
  CHECK(sequence_bytes(geometry, KvSplit{}, Tokens(1000)) == Bytes(1000 * 23'040 + 128 * (222'720 - 23'040)));
}

TEST_CASE("a window is kept with its layers") {
  ModelSpec m = llama_3_8b();
  CHECK(kv_geometry(m).front().kind == LayerKind::full_attention);
  m.sliding_window = 4096;
  CHECK(kv_geometry(m).front().kind == LayerKind::sliding_window);
  CHECK(kv_geometry(m).front().window == Tokens(4096));
}
