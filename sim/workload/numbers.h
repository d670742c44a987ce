// Numbers of trace files as exact integers; nothing passes through a double. A fault is a static text that completes
// "found X, ", or nullptr when all is well. O(length).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

// The digits at the front of [at, end), up to 8, as a number. 8 bytes from `at` can be read (LineReader pads lines).
struct DigitRun {
  std::int64_t value;
  std::size_t count;
};

// All 8 bytes at once: lengths of fields are random, and a loop over digits would mispredict its end in every field.
[[nodiscard]] inline DigitRun leading_digits(const char* at, const char* end) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, at, sizeof bytes);
  bytes ^= 0x3030303030303030U;  // a digit becomes its value, everything else more than 9
  const std::uint64_t others = ((bytes + 0x7676767676767676U) | bytes) & 0x8080808080808080U;
  const std::size_t run = static_cast<std::size_t>(std::countr_zero(others)) / 8;  // 8 when there are no others
  const std::size_t count = std::min(run, static_cast<std::size_t>(end - at));
  if (count == 0) return {0, 0};
  bytes <<= 8 * (8 - count);                                       // leading zeros
  bytes = (bytes * 10 + (bytes >> 8)) & 0x00ff00ff00ff00ffU;       // pairs of digits
  bytes = (bytes * 100 + (bytes >> 16)) & 0x0000ffff0000ffffU;     // fours
  bytes = (bytes * 10'000 + (bytes >> 32)) & 0x00000000ffffffffU;  // all eight
  return {static_cast<std::int64_t>(bytes), count};
}

// Text for a diagnostic: in quotes, cut behind `shown` characters, other than printable ASCII as \xNN.
[[nodiscard]] std::string quoted(std::string_view text, std::size_t shown = 60);

}  // namespace blockyard::workload
