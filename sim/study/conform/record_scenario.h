// A run of ours in the format of recorded runs, so that two versions, or a user's own engine, can be compared step by
// step. The scenario runs once in simulated time, which tells the step that each request arrives before; from then on
// time plays no part, and the workload goes through the same scheduler and memory again, a line a step. What the format
// cannot say is an InputError.
#pragma once

#include <filesystem>

#include "sim/scenario/document.h"
#include "sim/study/conform/record.h"

namespace blockyard::study {

// The scenario must leave rejections to the engine (admission.never_fits: engine). Cost: O(batch) a step, as recording
// is.
[[nodiscard]] Record record_scenario(const scenario::Document& scenario, const std::filesystem::path& configs);

}  // namespace blockyard::study
