// Classes of clients: tenants with weights and priorities.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/workload/generator.h"

namespace blockyard::workload {

void check_classes(const std::vector<ClassSpec>& classes, Diagnostics& errors);

// An edit: each session, or request without one, is of one class, drawn by weight from the stream "classes" of the seed
// (of a session from its number, so that its turns agree). At least one class.
[[nodiscard]] std::unique_ptr<RequestSource> with_classes(std::unique_ptr<RequestSource> source,
                                                          const std::vector<ClassSpec>& classes, std::uint64_t seed);

}  // namespace blockyard::workload
