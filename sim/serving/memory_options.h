// The kv_cache section of a scenario -> what the strategies are made from, and how long copies and mappings take. Only
// what the strategy uses is read, so that a key given for nothing is reported.
#pragma once

#include <cstdint>

#include "sim/kv/allocator/strategies.h"
#include "sim/model/gpu_spec.h"
#include "sim/model/kv_geometry.h"
#include "sim/model/memory_budget.h"
#include "sim/scenario/document.h"
#include "sim/serving/replica.h"

namespace blockyard::serving {

struct ServedMemory {
  const model::ModelSpec* model = nullptr;
  const model::GpuSpec* gpu = nullptr;
  std::int64_t tensor_parallel = 1;
  Tokens max_model_len;
  model::ElementType kv_dtype = model::ElementType::bf16;
  model::MemoryBudget budget;
  Tokens usable;         // of the pool
  Tokens longest_chunk;  // most tokens that a request gets in a step
};

[[nodiscard]] kv::MemoryOptions memory_options(const scenario::Document& scenario, const ServedMemory& served);

// vAttention's measurements on A100, in kv_cache.map_cost and unmap_cost: auto. Pages of 2 MiB by CUDA's own calls
// (map and set access 2 + 38 us, unmap 34 us), smaller ones by its changed driver (8 to 9 us and 2 to 4 us). Source:
// Prabhu et al., vAttention, ASPLOS 2025, table 3.
[[nodiscard]] MemoryTimes memory_times(const scenario::Document& scenario, const ServedMemory& served);

}  // namespace blockyard::serving
