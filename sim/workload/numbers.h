// Numbers of trace files as exact integers; nothing passes through a double. A fault is a static text that completes
// "found X, ", or nullptr when all is well. O(length).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace blockyard::workload {

// decimal := ["+" | "-"] (digits ["." [digits]] | "." digits) [("e" | "E") ["+" | "-"] digits]
// value = decimal * 10^power, rounded half away from zero to an integer; `exact` tells whether it had to be rounded.
struct Decimal {
  std::int64_t value = 0;
  bool exact = true;
  const char* fault = nullptr;
};
[[nodiscard]] Decimal parse_decimal(std::string_view text, int power);

// YYYY-MM-DD[ T]hh:mm:ss[.f{0,9}][Z|+hh:mm|-hh:mm] as ns since 1970-01-01 00:00:00; without a zone as if it were UTC.
// Years 1970 to 2261, what 64 bits of ns hold without a sign.
struct DateTime {
  std::int64_t ns = 0;
  const char* fault = nullptr;
};
[[nodiscard]] DateTime parse_date_time(std::string_view text);

// Text for a diagnostic: in quotes, cut behind `shown` characters, other than printable ASCII as \xNN.
[[nodiscard]] std::string quoted(std::string_view text, std::size_t shown = 60);

}  // namespace blockyard::workload
