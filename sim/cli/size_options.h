// What `blockyard size` is asked: the cases (one for each GPU and tensor-parallel size) and the lengths to look at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/cli/options.h"
#include "sim/model/engine_log.h"
#include "sim/model/sizing.h"

namespace blockyard::cli {

struct SizeQuestion {
  std::optional<model::ModelSpec> model;  // absent: a log is looked at by itself
  std::vector<model::GpuSpec> gpus;
  std::vector<std::int64_t> tps;
  model::SizeOptions options;  // of every case but for tp
  std::vector<Tokens> contexts;
  bool batch_tokens_given = false;  // else the engine's default on each GPU
  bool batch_sequences_given = false;

  [[nodiscard]] model::SizeOptions options_of(const model::GpuSpec& gpu, std::int64_t tp) const;
};

void declare_size_options(Options& options);
// Reads them all and says everything that is wrong at once. What `log` tells stands where no option says otherwise.
[[nodiscard]] SizeQuestion read_size_options(const Options& options, const model::EngineLog* log);

}  // namespace blockyard::cli
