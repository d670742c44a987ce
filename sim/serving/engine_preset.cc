#include "sim/serving/engine_preset.h"

#include <algorithm>
#include <string>

#include "sim/base/check.h"

namespace blockyard::serving {
namespace {

bool flag(const scenario::Document& scenario, std::string_view key, bool preset) {
  return scenario.is_word(key, "auto") ? preset : scenario.boolean(key);
}

}  // namespace

NameDocs engine_presets() {
  NameDocs docs;
  for (const EnginePreset& preset : kEnginePresets) docs.push_back({std::string(preset.name), std::string(preset.doc)});
  return docs;
}

const EnginePreset& preset_of(const scenario::Document& scenario) {
  const std::string& name = scenario.choice("engine.preset");
  const auto* const found = std::ranges::find(kEnginePresets, name, &EnginePreset::name);
  CHECK_LAW(found != kEnginePresets.end(), "no engine preset {}", name);
  return *found;
}

bool async_scheduling(const scenario::Document& scenario) {
  const bool pipelined = scenario.integer("hardware.pipeline_parallel_size") > 1;
  return flag(scenario, "engine.async_scheduling", !pipelined && preset_of(scenario).async_scheduling);
}

bool reserve_full_isl(const scenario::Document& scenario) {
  return flag(scenario, "engine.scheduler_reserve_full_isl", preset_of(scenario).reserve_full_isl);
}

}  // namespace blockyard::serving
