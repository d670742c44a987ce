// Entries of configs/models and configs/gpus -> the specs of the rooms below.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "sim/cost/calibration.h"
#include "sim/cost/constants.h"
#include "sim/model/gpu_spec.h"
#include "sim/model/model_spec.h"
#include "sim/scenario/document.h"

namespace blockyard::serving {

struct GpuEntry {
  model::GpuSpec spec;
  cost::Calibration calibration;
};

// An entry of the catalogue by its name, or a file: a YAML like an entry's or (models) a Hugging Face config.json.
// Throws InputError with everything that is wrong.
[[nodiscard]] model::ModelSpec model_named(const std::string& name_or_file, const std::filesystem::path& configs);
[[nodiscard]] GpuEntry gpu_named(const std::string& name_or_file, const std::filesystem::path& configs);

// What the scenario's key `path` names: an entry's name, a path to a file like one, or (models) a Hugging Face
// config.json. Throws InputError with everything that is wrong in the file.
[[nodiscard]] model::ModelSpec load_model(const scenario::Document& scenario, const std::filesystem::path& configs);
// What is run, beside the GPU: constants fitted to another say so.
struct Server {
  std::string model;
  std::int64_t gpus = 1;
};
// The constants of a run: the GPU's own, those of the file that cost.calibration names, and what the section `cost`
// says itself, each before the one before it.
[[nodiscard]] cost::Constants load_constants(const scenario::Document& scenario, const GpuEntry& gpu,
                                             const Server& server);
// Whether a key of the scenario goes before what a calibration file says of this constant.
[[nodiscard]] bool overrules_calibration(const scenario::Document& scenario, std::string_view constant);
// An entry of configs/models, or a Hugging Face config.json.
[[nodiscard]] model::ModelSpec load_model_file(const std::filesystem::path& file);
[[nodiscard]] GpuEntry load_gpu(const scenario::Document& scenario, const std::filesystem::path& configs);

}  // namespace blockyard::serving
