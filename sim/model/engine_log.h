// What an engine says of its memory when it starts (vLLM from 0.5 on, V0 and V1; SGLang; TensorRT-LLM's token line):
// sizes, counts, limits, and the options that bear on them. Lines of several ranks are merged to the least, which is
// what the engine uses. What engines print as GB they have divided by 2^30.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/quantities.h"

namespace blockyard::model {

struct EngineLog {
  std::optional<std::string> version;
  bool v0 = false;  // vLLM's first engine
  std::optional<std::string> model;
  std::optional<std::int64_t> tp;
  std::optional<std::int64_t> pp;
  std::optional<std::int64_t> dp;  // vLLM's
  std::optional<std::string> kv_cache_dtype;
  std::optional<Tokens> max_model_len;
  std::optional<Tokens> max_num_batched_tokens;
  std::optional<double> gpu_memory_utilization;
  std::optional<double> total_gib;
  std::optional<double> weights_gib;
  std::optional<double> activation_gib;
  std::optional<double> non_torch_gib;
  std::optional<double> cuda_graphs_gib;
  std::optional<double> kv_gib;  // available for KV
  std::optional<Tokens> kv_tokens;
  std::optional<Blocks> kv_blocks;
  std::optional<Blocks> host_blocks;
  std::optional<double> max_concurrency;
  std::optional<Tokens> concurrency_length;  // that max_concurrency is of
  std::optional<double> needed_gib;          // of a refusal
  std::optional<Tokens> largest_max_model_len;
  std::vector<std::string> notes;  // where ranks differ

  [[nodiscard]] bool empty() const;  // not one figure of the KV cache
};

[[nodiscard]] EngineLog read_engine_log(std::istream& in);

}  // namespace blockyard::model
