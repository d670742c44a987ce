// One scenario, run to its end: what `run`, `compare` and every study call.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "sim/base/memory_change.h"
#include "sim/cost/constants.h"
#include "sim/metrics/collector.h"
#include "sim/metrics/summary.h"
#include "sim/scenario/document.h"
#include "sim/serving/requests.h"
#include "sim/serving/simulation.h"

namespace blockyard::serving {

struct RunControl {
  // Asked now and then; false ends the run with what is done. `expected` = requests there will be, where known.
  std::function<bool(const RunProgress&, std::optional<std::int64_t> expected)> go_on{};
  bool time_series = false;                    // keep what `--out` writes: time series, each request's time, events
  const cost::Constants* constants = nullptr;  // in place of the scenario's
  const RequestsOverride* requests = nullptr;  // in place of the scenario's workload
  // Is told of each change of the pool, with the bytes of a piece of its partition. Asked for, the run walks every
  // step.
  std::function<void(SimTime, const MemoryChange&, Bytes piece)> memory_changed = {};
  std::function<void(const StepTaken&)> step_taken = {};  // is told of each step of the run
};

struct RunResult {
  metrics::Summary summary;
  metrics::Collector collector;  // records and time series
  // What a trace that reads as it stands was read as; of any other the summary's notes tell. Not among them, as its
  // exported requests are the same workload.
  std::string read = {};
};

// Throws InputError for what is wrong with the scenario or found wrong in the trace on the way.
[[nodiscard]] RunResult run(const scenario::Document& scenario, const std::filesystem::path& configs,
                            const RunControl& control = {});

}  // namespace blockyard::serving
