// A trace at another rate: times divided by a scale, each rounded once to the nearest nanosecond, so that no error adds
// up.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

#include "sim/base/diagnostics.h"
#include "sim/base/quantities.h"

namespace blockyard::workload {

// What 64 bits of nanoseconds hold, less the time that a simulation of the trace may take.
inline constexpr SimTime kLongestSpan{200LL * 365 * 86400 * kNanosecondsPerSecond};

// span >= 0, rate_scale > 0. Throws InputError, of `file`, where the result is beyond kLongestSpan.
[[nodiscard]] inline SimTime scaled(SimTime span, double rate_scale, std::string_view file = {}) {
  if (rate_scale == 1) return span;
  const double time = static_cast<double>(span.count()) / rate_scale;
  if (!(time < static_cast<double>(kLongestSpan.count()))) {
    throw InputError({std::string(file)},
                     fmt::format("a rate scale of {} stretches the trace beyond 200 years", rate_scale));
  }
  return SimTime(std::llround(time));
}

}  // namespace blockyard::workload
