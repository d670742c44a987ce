// What a scenario serves, on what, and the KV memory that is left for it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "sim/base/diagnostics.h"
#include "sim/model/memory_budget.h"
#include "sim/model/model_spec.h"
#include "sim/model/weights.h"
#include "sim/scenario/document.h"
#include "sim/serving/block_layout.h"
#include "sim/serving/hardware.h"

namespace blockyard::serving {

[[nodiscard]] inline double gib(Bytes bytes) { return static_cast<double>(bytes.count()) / (1LL << 30); }

struct Served {
  model::ModelSpec model;
  GpuEntry gpu;
  std::int64_t tensor_parallel = 1;
  std::int64_t stages = 1;
  std::int64_t replicas = 1;
  Tokens max_model_len;
  model::ElementType kv_dtype = model::ElementType::bf16;
  Tokens longest_chunk;  // most tokens that a request gets in a step

  // Replicas of a mixture of experts have these on the GPUs of all.
  [[nodiscard]] bool shares_experts() const { return replicas > 1 && model::mixes_experts(model); }
  [[nodiscard]] std::int64_t gpus() const { return tensor_parallel * stages; }  // of a replica
};

// None if an entry cannot be read; what is wrong with it goes to `errors`.
[[nodiscard]] std::optional<Served> served(const scenario::Document& scenario, const std::filesystem::path& configs,
                                           Diagnostics& errors);

// The pool of a replica. Every stage of a pipeline holds the same blocks of its own layers: the one that has room for
// the fewest binds, as in model/sizing.h.
struct Pool {
  BlockLayout blocks;
  model::MemoryBudget budget;
  model::Stage stage;
  Bytes token_bytes;  // of the stage that keeps most
};

// `cached`: with a prefix cache; `forks`: sequences of a request share blocks.
[[nodiscard]] Pool pool_of(const scenario::Document& scenario, const Served& served, bool cached, bool forks,
                           Diagnostics& errors);

}  // namespace blockyard::serving
