// Parallel samples: how many sequences a request becomes after its prompt (`n` of the API; the width of a beam search).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/workload/request.h"

namespace blockyard::workload {

// An edit: every request asks for `samples` (1 to kMostSamples).
[[nodiscard]] std::unique_ptr<RequestSource> with_samples(std::unique_ptr<RequestSource> source, std::int32_t samples);

// May the trace ask for more than one? Looks at its first line for a column `n`; false for standard input, which can be
// read only once, and for a file that open_trace would refuse. `format` as in TraceOptions.
[[nodiscard]] bool trace_asks_samples(const std::string& path, const std::string& format);

}  // namespace blockyard::workload
