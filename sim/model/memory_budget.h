// How much KV cache a GPU has room for. Law: kv_bytes = floor(memory x gpu_memory_utilization) - weights - activation
// peak - non-torch - CUDA graphs, each line shown with its formula and source; or the amount is given outright. Bytes
// are those of one GPU; tokens and blocks are those of the whole replica, since every rank holds its part of the same
// tokens.
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
#include "sim/model/overheads.h"
#include "sim/model/weights.h"

namespace blockyard::model {

struct FromGpuMemory {};
// Blocks and Tokens (inside every window) of the replica, or Bytes of one GPU.
using BudgetRequest = std::variant<FromGpuMemory, Blocks, Tokens, Bytes>;

// Parts of a GPU's memory that are known, in place of what the rules say.
struct GivenParts {
  std::optional<Bytes> weights;
  std::optional<Bytes> activation_peak;
  std::optional<Bytes> non_torch;
  std::optional<Bytes> cuda_graphs;
};

struct BudgetOptions {
  BudgetRequest request = FromGpuMemory{};
  std::int64_t tensor_parallel_size = 1;
  std::int64_t pipeline_parallel_size = 1;
  std::int64_t data_parallel_size = 1;  // replicas that share a mixture's routed experts; nothing of a dense model
  std::optional<Stage> stage;           // the whole model if absent
  double gpu_memory_utilization = 0.9;
  Tokens max_num_batched_tokens{2048};
  std::int64_t max_num_seqs = 256;
  Tokens block_size{16};  // 1 for memory that is not paged
  ElementType kv_dtype = ElementType::bf16;
  std::optional<Bytes> block_bytes;  // of one GPU; absent: bytes a token x block_size, every layer in full
  std::optional<Bytes> row_bytes;    // of block_size tokens in every layer; absent: that is one block
  std::string overheads = kDefaultOverheads;
  GivenParts given;
};

struct BudgetLine {
  std::string name;
  Bytes bytes;  // subtractions are negative
  std::string formula;
  std::string source;
};

struct MemoryBudget {
  std::vector<BudgetLine> lines;  // they add up to kv_bytes
  Bytes kv_bytes;                 // of one GPU; <= 0: the model does not fit
  Bytes bytes_per_token;          // of one GPU, inside every window
  Blocks blocks;                  // whole blocks of block_size, 0 if the model does not fit
  Tokens tokens;                  // blocks x block_size
};

// `overheads` is the name of a preset. A spec whose weights are not all known needs given.weights or an amount given
// outright (needs_weights).
[[nodiscard]] MemoryBudget compute_budget(const ModelSpec& spec, const GpuSpec& gpu, const BudgetOptions& options);
[[nodiscard]] bool needs_weights(const ModelSpec& spec, const BudgetOptions& options);

// The format that the engine keeps KV in unless told otherwise: what the checkpoint asks for, else 16 bits.
[[nodiscard]] ElementType default_kv_dtype(const ModelSpec& spec);

}  // namespace blockyard::model
