// The scenario's `workload.clients` section -> who sends the requests, and when (clients.h).
#pragma once

#include <string>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/scenario/document.h"
#include "sim/serving/clients.h"

namespace blockyard::serving {

// Which mode the section, or in its place the workload, asks for. Adds no errors.
[[nodiscard]] ClientMode client_mode(const scenario::Document& scenario);

// Contradictions go to `errors`; what a reader of the report should know of scaling to `notes`.
[[nodiscard]] ClientOptions client_options(const scenario::Document& scenario, Diagnostics& errors,
                                           std::vector<std::string>& notes);

}  // namespace blockyard::serving
