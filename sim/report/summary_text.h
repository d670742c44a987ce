// A summary as one screen of at most 100 columns: what was asked, what came out, what to think of it. Every figure has
// its unit and no more digits than are known (four significant, or all of an integer); definitions stand below the
// figures. No colour, no wall clock: the same summary gives the same bytes.
#pragma once

#include <string>
#include <string_view>

#include "sim/metrics/summary.h"

namespace blockyard::report {

// `read`: what is known of the input beside the summary's own notes, said with them.
[[nodiscard]] std::string print_summary(const metrics::Summary& summary, std::string_view read = "");

}  // namespace blockyard::report
