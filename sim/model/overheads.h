// What an engine takes of a GPU beside weights and KV cache, by generation of the engine: rules with their source and
// their error on what engines reported. Any part can be given instead.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/base/named.h"
#include "sim/base/quantities.h"
#include "sim/model/weights.h"

namespace blockyard::model {

struct MemoryOverheads {
  Bytes activation_peak;
  Bytes non_torch;    // CUDA context, communication buffers
  Bytes cuda_graphs;  // 0 where the engine does not take them into account
};

struct OverheadInput {
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  Stage stage;
  Tokens max_num_batched_tokens{2048};
  std::int64_t max_num_seqs = 256;
};

struct OverheadPreset {
  const char* name;
  const char* doc;  // source and measured error
  const char* activation_rule;
  const char* non_torch_rule;
  const char* cuda_graphs_rule;
  MemoryOverheads (*compute)(const ModelSpec& spec, const OverheadInput& input);
};

inline constexpr const char* kDefaultOverheads = "vllm-0.15";

// Nothing for an unknown name.
[[nodiscard]] const OverheadPreset* overhead_preset(std::string_view name);
[[nodiscard]] const NameDocs& overhead_presets();

}  // namespace blockyard::model
