// The scenario's `preemption` section, the host link under it, and what counts as a gap.
#pragma once

#include "sim/base/diagnostics.h"
#include "sim/base/quantities.h"
#include "sim/model/gpu_spec.h"
#include "sim/model/link.h"
#include "sim/scenario/document.h"
#include "sim/sched/schedulers.h"

namespace blockyard::serving {

// Gaps between output tokens above this are counted.
[[nodiscard]] SimTime gap_threshold(const scenario::Document& scenario);

[[nodiscard]] model::LinkSpec host_link(const scenario::Document& scenario, const model::GpuSpec& gpu);

// Who goes and how, as far as the keys alone tell; what does not go together is added to `errors`.
void preemption_options(const scenario::Document& scenario, sched::EngineOptions& options, Diagnostics& errors);

}  // namespace blockyard::serving
