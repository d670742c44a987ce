// What an engine's release does unless its flags say otherwise: the defaults behind `auto` in the engine section.
#pragma once

#include <array>
#include <string_view>

#include "sim/base/named.h"
#include "sim/scenario/document.h"

namespace blockyard::serving {

struct EnginePreset {
  std::string_view name;
  std::string_view doc;
  bool async_scheduling;  // a step is planned while one runs
  bool reserve_full_isl;  // scheduler_reserve_full_isl
};

inline constexpr std::array kEnginePresets{
    EnginePreset{"vllm-0.6", "vLLM V0, up to 0.6: synchronous scheduling", false, false},
    EnginePreset{"vllm-0.13", "vLLM V1 up to 0.13: synchronous scheduling", false, false},
    EnginePreset{"vllm-0.14", "vLLM 0.14 to 0.18: asynchronous scheduling", true, false},
    EnginePreset{"vllm-0.19", "vLLM from 0.19 on: asynchronous scheduling, admission of whole prompts only", true,
                 true},
};

[[nodiscard]] NameDocs engine_presets();
[[nodiscard]] const EnginePreset& preset_of(const scenario::Document& scenario);

// `auto` is the preset's; asynchronous scheduling and pipeline stages do not go together (vLLM 0.14).
[[nodiscard]] bool async_scheduling(const scenario::Document& scenario);
[[nodiscard]] bool reserve_full_isl(const scenario::Document& scenario);

}  // namespace blockyard::serving
