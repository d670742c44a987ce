// Requests of several samples or beams: how the engine runs them, and what they do not go with.
#pragma once

#include <string>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/scenario/document.h"
#include "sim/sched/schedulers.h"

namespace blockyard::serving {

// Beams, if there are several sequences a request.
[[nodiscard]] bool asks_beams(const scenario::Document& scenario);

// For a workload that asks for several: fills in `forks` and `beams` of the memory; `cached`: there is a prefix cache.
// Adds what the reader of a report should know to `notes`, and what is wrong to `errors`.
void sample_options(const scenario::Document& scenario, bool cached, sched::EngineOptions& options,
                    std::vector<std::string>& notes, Diagnostics& errors);

}  // namespace blockyard::serving
