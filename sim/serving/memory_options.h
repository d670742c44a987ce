// The kv_cache section of a scenario -> what the strategies are made from, and how long copies and mappings take. Only
// what the strategy uses is read, so that a key given for nothing is reported.
#pragma once

#include <cstdint>

#include "sim/kv/allocator/strategies.h"
#include "sim/model/gpu_spec.h"
#include "sim/model/kv_geometry.h"
#include "sim/model/memory_budget.h"
#include "sim/scenario/document.h"
#include "sim/serving/block_layout.h"
#include "sim/serving/replica.h"

namespace blockyard::serving {

struct ServedMemory {
  const model::ModelSpec* model = nullptr;
  const model::GpuSpec* gpu = nullptr;
  std::int64_t tensor_parallel = 1;
  Tokens max_model_len;
  model::ElementType kv_dtype = model::ElementType::bf16;
  model::MemoryBudget budget;
  model::Stage stage;  // the budget's: of a pipeline, the stage that binds
  Bytes token_bytes;   // KV of one token on one GPU, of the stage that keeps most
  BlockLayout blocks;
  Tokens usable;         // of the pool
  Tokens longest_chunk;  // most tokens that a request gets in a step
};

[[nodiscard]] kv::MemoryOptions memory_options(const scenario::Document& scenario, const ServedMemory& served);

// kv_cache.map_cost and unmap_cost: auto. Assumed, after vAttention's measurements on an A100 (Prabhu et al., ASPLOS
// 2025, table 3): pages of 2 MiB by CUDA's own calls, map 2 + set access 38 us and unmap 34 us; smaller ones by the
// driver it changed, map 8 to 9 us and release 2 to 4 us. Other GPUs and drivers need figures of their own. Pages are
// created beforehand, and no call is hidden behind a step as vAttention's background thread hides them.
[[nodiscard]] MemoryTimes memory_times(const scenario::Document& scenario, const ServedMemory& served);

}  // namespace blockyard::serving
