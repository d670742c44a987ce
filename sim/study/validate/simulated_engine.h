// The engine that is laid beside a measured one: what of the scenario decides its times, and where it may be another
// engine, or another load, than was measured. Of the scenario's workload nothing is used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/document.h"
#include "sim/study/validate/measured.h"

namespace blockyard::study {

struct SimulatedEngine {
  std::string preset;
  bool preset_given = false;  // by the scenario; else it is the default
  std::string scheduler;
  bool async_scheduling = false;
  std::int64_t tensor_parallel = 1;
  std::int64_t pipeline_parallel = 1;
  std::int64_t data_parallel = 1;
};

[[nodiscard]] SimulatedEngine engine_of(const scenario::Document& scenario);

// The scenario of a file without its workload, which is not read: nothing in it has to be there.
[[nodiscard]] scenario::Document load_engine(const std::filesystem::path& file, const std::filesystem::path& configs,
                                             std::span<const std::string> sets = {});

// May a server's name of its model, "meta-llama/Llama-3.1-8B-Instruct", mean this one, "llama-3.1-8b"? It does if it
// contains all of it, whatever the case, hyphens and underscores.
[[nodiscard]] bool may_be_model(std::string_view served, std::string_view model);

// Why the two sides may not be of one thing, in sentences.
[[nodiscard]] std::vector<std::string> differences(const scenario::Document& scenario, const std::string& model,
                                                   const MeasuredFile& file);

}  // namespace blockyard::study
