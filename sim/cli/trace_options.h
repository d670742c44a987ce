// The options that say how a trace is read, the same for every command that takes one.
#pragma once

#include "sim/cli/options.h"
#include "sim/workload/trace.h"

namespace blockyard::cli {

void add_trace_options(Options& options);
// Throws InputError for a wrong value, all at once.
[[nodiscard]] workload::TraceOptions trace_options(const Options& options);

// The value of an option as a whole number within the bounds, or InputError; `otherwise` where it is not given.
[[nodiscard]] std::int64_t whole_number(const Options& options, const std::string& name, std::int64_t low,
                                        std::int64_t high, std::int64_t otherwise);
// A decimal above 0.
[[nodiscard]] double positive_number(const Options& options, const std::string& name, double otherwise);

}  // namespace blockyard::cli
