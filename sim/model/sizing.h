// Will it fit, and how much of it? Brings together budget, layout and lengths: blocks and tokens of a replica, the
// longest sequence, how many fit at once, and what to change where they do not. The binding pipeline stage is the one
// with the fewest blocks; every stage holds its layers' part of the same tokens.
//
// Engine's figures: kv_blocks includes the null block, as in its start-up line; kv_tokens and max_concurrency follow
// the generation of the engine (Engine below).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/model/gpu_spec.h"
#include "sim/model/kv_layout.h"
#include "sim/model/memory_budget.h"

namespace blockyard::model {

// How an engine counts what it prints. All agree where layers are alike and max_model_len is whole blocks.
enum class Engine {
  vllm,       // 0.21 on: concurrency = blocks / blocks of a sequence of max_model_len; tokens = blocks x block_size, or
              // for several page groups floor(concurrency x max_model_len)
  vllm_0_20,  // up to 0.20: tokens of several page groups = blocks / groups x the smallest block
  vllm_v0,    // concurrency = tokens / max_model_len
};

struct SizeOptions {
  BudgetRequest request = FromGpuMemory{};
  std::optional<ElementType> kv_dtype;  // default_kv_dtype if absent
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t dp = 1;  // replicas, of one of which all figures are; they share a mixture's routed experts
  std::int64_t dcp = 1;
  double gpu_memory_utilization = 0.9;
  std::optional<Tokens> max_model_len;  // max_position_embeddings if absent
  Tokens max_num_batched_tokens{2048};
  std::int64_t max_num_seqs = 256;
  Tokens block_size{16};
  bool hybrid_manager = true;
  Engine engine = Engine::vllm;
  std::int64_t draft_layers = 0;
  std::int64_t speculative_tokens = 0;
  std::string overheads = kDefaultOverheads;
  GivenParts given;
};

struct StageSize {
  Stage stage;
  MemoryBudget budget;
  KvLayout layout;
};

struct Sizing {
  ModelSpec model;
  GpuSpec gpu;
  SizeOptions options;
  ElementType kv_dtype = ElementType::bf16;
  Tokens max_model_len;
  std::vector<StageSize> stages;
  std::size_t binding = 0;  // of stages

  // Of one GPU of the binding stage.
  Bytes bytes_per_token;         // inside all windows
  Bytes bytes_per_token_beyond;  // beyond them
  Bytes window_bytes;            // of a sequence beyond them
  Bytes fixed_bytes_per_sequence;
  Bytes kv_bytes;
  Bytes needed_bytes;  // for one sequence of max_model_len

  // Of all GPUs together.
  Bytes kv_bytes_of_replica;
  Bytes bytes_per_token_of_replica;

  Blocks kv_blocks;
  Tokens kv_tokens;
  double max_concurrency = 0;
  bool fits = false;                            // a sequence of max_model_len, and the weights before it
  std::optional<Tokens> largest_max_model_len;  // nothing: memory sets no limit

  [[nodiscard]] const StageSize& bound() const { return stages[binding]; }
  [[nodiscard]] LayoutOptions layout_options() const;
  [[nodiscard]] Blocks blocks_of(Tokens length) const;
  [[nodiscard]] Bytes bytes_of(Tokens length) const;  // on one GPU, exactly: no pages
  // Sequences of this length at once: by bytes alone, and in the engine's blocks beside its null block.
  [[nodiscard]] double by_arithmetic(Tokens length) const;
  [[nodiscard]] std::int64_t by_engine(Tokens length) const;
};

// The largest batch of a step that the engine's server takes unless told otherwise (vLLM, EngineArgs): more on GPUs of
// 70 GiB and above, A100 apart. vLLM asks the device for its name; here it is the name of the GPU's entry.
struct BatchLimits {
  Tokens tokens;
  std::int64_t sequences = 0;
};
[[nodiscard]] BatchLimits default_batch(const GpuSpec& gpu);

// What cannot be: tp that does not divide, more stages than layers, dcp that does not divide tp, weights not known.
void check(const ModelSpec& spec, const SizeOptions& options, const Place& place, Diagnostics& diagnostics);

// The options have passed check().
[[nodiscard]] Sizing size_of(const ModelSpec& spec, const GpuSpec& gpu, const SizeOptions& options);

// What would make it fit, each tried: a shorter limit, more of the GPU, fp8 KV, more GPUs. Empty if nothing of it
// helps.
[[nodiscard]] std::vector<std::string> remedies(const Sizing& sizing);

}  // namespace blockyard::model
