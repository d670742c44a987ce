// vLLM V1 (0.13.0, synchronous): RunningFirst with the engine's own options and victims. Not modelled: speculative
// decoding, LoRA, multimodal inputs, KV connectors.
#pragma once

#include <memory>

#include "sim/sched/running_first.h"

namespace blockyard::sched {
[[nodiscard]] std::unique_ptr<Scheduler> make_vllm_v1(const RunningFirstOptions& options, kv::Allocator& memory,
                                                      RestoreCost* restore_cost = nullptr);
}  // namespace blockyard::sched
