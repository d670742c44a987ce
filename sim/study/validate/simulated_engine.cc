#include "sim/study/validate/simulated_engine.h"

#include <fmt/format.h>

#include "sim/scenario/load.h"
#include "sim/serving/engine_preset.h"
#include "sim/serving/names.h"

namespace blockyard::study {
namespace {

constexpr const char* kWorkload = "workload";

std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == ' ') continue;
    text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

}  // namespace

SimulatedEngine engine_of(const scenario::Document& scenario) {
  return {.preset = std::string(serving::preset_of(scenario).name),
          .preset_given = scenario.is_set("engine.preset"),
          .scheduler = scenario.choice("engine.scheduler"),
          .async_scheduling = serving::async_scheduling(scenario),
          .tensor_parallel = scenario.integer("hardware.tensor_parallel_size"),
          .pipeline_parallel = scenario.integer("hardware.pipeline_parallel_size"),
          .data_parallel = scenario.integer("hardware.data_parallel_size")};
}

scenario::Document load_engine(const std::filesystem::path& file, const std::filesystem::path& configs,
                               std::span<const std::string> sets) {
  return scenario::load(file, serving::scenario_schema(configs), sets, kWorkload);
}

bool may_be_model(std::string_view served, std::string_view model) {
  return plain(served).find(plain(model)) != std::string::npos;
}

std::vector<std::string> differences(const scenario::Document& scenario, const std::string& model,
                                     const MeasuredFile& file) {
  std::vector<std::string> notes;
  if (scenario.is_set(kWorkload))
    notes.emplace_back("the workload section of the scenario is not used: the measured requests are");
  for (const auto& [key, value] : file.client) {
    if (key == "model_id" && !may_be_model(value, model)) {
      notes.push_back(fmt::format("the measured server called its model {}, the scenario's is {}: are they the same?",
                                  value, model));
    }
    if (key == "max_concurrency" && value != "none") {
      notes.push_back(fmt::format(
          "the client had at most {} requests out at once (max_concurrency); here each is sent when it was sent there, "
          "however many are out: a simulated server that is slower has more of them, and longer queues",
          value));
    }
  }
  return notes;
}

}  // namespace blockyard::study
