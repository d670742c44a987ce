// The scenario's `admission` section, and the order of the queue: who is let in, and who comes next. Only what a choice
// uses is read, so that a key given for nothing is reported.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/scenario/document.h"
#include "sim/sched/waiting_queue.h"
#include "sim/serving/simulation.h"

namespace blockyard::serving {

// Kept free at admission, as a share of the pool; none for the engine's own rule.
[[nodiscard]] std::optional<double> watermark(const scenario::Document& scenario, Tokens block_size, Tokens usable,
                                              Diagnostics& errors);

// What the queue order makes of this scenario, where that is not what its name promises.
void note_queue_order(const scenario::Document& scenario, bool cached, std::vector<std::string>& notes);
[[nodiscard]] sched::QueueOptions queue_options(const scenario::Document& scenario, Diagnostics& errors);

// As far as the section alone tells.
[[nodiscard]] AdmissionOptions admission_options(const scenario::Document& scenario);

}  // namespace blockyard::serving
