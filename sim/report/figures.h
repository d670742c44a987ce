// Numbers as people read them: four significant digits, thousands separators, one unit for all figures of a row. Cost:
// a few hundred nanoseconds a figure; for screens, not for files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/quantities.h"

namespace blockyard::report {

[[nodiscard]] std::string count_text(std::int64_t count);  // 1234567 -> "1,234,567"

// Rounded to `digits` significant digits: 0.0123456 -> "0.01235", 25 -> "25.00", 123456 -> "123,500"; 0 -> "0".
[[nodiscard]] std::string significant(double value, int digits = 4);

// A share of a whole in per cent: "12.3 %"; "0 %" for nothing at all and "<0.1 %" for less than the last digit.
[[nodiscard]] std::string share_text(double share);

// What simulated / measured - 1 or the like comes to: "+1.6 %", "-27.9 %", "0.0 %"; from ten times as much on the ratio
// itself, "17,990x".
[[nodiscard]] std::string error_text(double share);

struct Unit {
  const char* name;
  double size;  // in seconds or bytes
};

// The unit in which `largest`, the largest figure of a row or table, is at least 1: us, ms, s; B, KiB, MiB, GiB.
[[nodiscard]] Unit time_unit(Seconds largest);
[[nodiscard]] Unit byte_unit(double largest);

// "-" where there is no sample.
[[nodiscard]] std::string in_unit(std::optional<double> value, const Unit& unit);

// Aligned with others of its column: with the decimals that `largest` has at four significant digits.
[[nodiscard]] std::string in_unit_of_column(double value, const Unit& unit, double largest);

// "1.500 s", "250.0 ms": the figure with its own unit.
[[nodiscard]] std::string time_text(Seconds seconds);
[[nodiscard]] std::string bytes_text(double bytes);

// Whole seconds from a minute on as people say them, "58 min 32 s", "2 h 03 min"; "" below.
[[nodiscard]] std::string duration_words(Seconds seconds);

// A limit as it was given: "50 ms", "1.5 s".
[[nodiscard]] std::string limit_text(SimTime limit);

}  // namespace blockyard::report
