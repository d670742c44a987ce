// How much KV cache a GPU has room for. Law: kv_bytes = floor(memory x gpu_memory_utilization) - weights - activation
// peak - non-torch - CUDA graphs, each line shown; or the amount is given outright. Bytes are those of one GPU; tokens
// and blocks are those of the whole replica, since every rank holds its part of the same tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/quantities.h"
#include "sim/model/gpu_spec.h"
#include "sim/model/kv_geometry.h"
#include "sim/model/model_spec.h"

namespace blockyard::model {

// What an engine takes beside weights and KV cache.
struct MemoryOverheads {
  Bytes activation_peak;
  Bytes non_torch;
  Bytes cuda_graphs;
};

// vLLM 0.15 with CUDA graphs on H100 and RTX 4090: 0.25 GiB + 0.45 GiB if tp > 1 + 5.5e-6 GiB x vocab_size + 3.6e-5 GiB
// x batched tokens above 2048. Only the sum was measured; the parts are named after their likely cause. Error on the 13
// block counts that it was made on: 0.5 % mean, 3.9 % worst.
inline constexpr const char* kVllmOverheads =
    "vllm-0.15 rule (13 measured block counts: 0.5 % mean, 3.9 % worst error)";
[[nodiscard]] MemoryOverheads vllm_overheads(const ModelSpec& spec, std::int64_t tp, Tokens max_num_batched_tokens);

struct FromGpuMemory {};
// Blocks and Tokens of the replica, or Bytes of one GPU.
using BudgetRequest = std::variant<FromGpuMemory, Blocks, Tokens, Bytes>;

struct BudgetOptions {
  BudgetRequest request = FromGpuMemory{};
  std::int64_t tensor_parallel_size = 1;
  double gpu_memory_utilization = 0.9;
  Tokens max_num_batched_tokens{2048};
  Tokens block_size{16};  // 1 for memory that is not paged
  ElementType kv_dtype = ElementType::bf16;
  std::optional<MemoryOverheads> overheads;  // vllm_overheads if absent
};

struct BudgetLine {
  std::string name;
  Bytes bytes;  // subtractions are negative
  std::string formula;
};

struct MemoryBudget {
  std::vector<BudgetLine> lines;  // they add up to kv_bytes
  Bytes kv_bytes;                 // of one GPU; <= 0: the model does not fit
  Bytes bytes_per_token;          // of one GPU
  Blocks blocks;                  // whole blocks of block_size, 0 if the model does not fit
  Tokens tokens;                  // blocks x block_size
};

[[nodiscard]] MemoryBudget compute_budget(const ModelSpec& spec, const GpuSpec& gpu, const BudgetOptions& options);

}  // namespace blockyard::model
