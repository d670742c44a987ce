#include "sim/report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace blockyard::report {
namespace {

// Puts a comma before every third digit of the integer part.
std::string with_separators(std::string digits) {
  const std::size_t start = digits.starts_with('-') ? 1 : 0;
  for (std::size_t end = std::min(digits.find('.'), digits.size()); end > start + 3; end -= 3) {
    digits.insert(end - 3, 1, ',');
  }
  return digits;
}

struct Rounded {
  double value;
  int decimals;  // behind the point, to show `digits` significant digits
};

// Rounding may carry into a new digit (9.9996 -> 10.00), so the exponent is that of the rounded value.
Rounded round_to(double value, int digits) {
  const std::string scientific = fmt::format("{:.{}e}", value, digits - 1);
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  return {std::stod(scientific), std::max(0, digits - 1 - exponent)};
}

template <std::size_t N>
Unit largest_below(const Unit (&units)[N], double value) {
  const auto* found =
      std::find_if(std::begin(units), std::end(units) - 1, [&](const Unit& u) { return value >= u.size; });
  return *found;
}

}  // namespace

std::string count_text(std::int64_t count) { return with_separators(fmt::format("{}", count)); }

std::string significant(double value, int digits) {
  if (value == 0) return "0";
  const Rounded rounded = round_to(value, digits);
  return with_separators(fmt::format("{:.{}f}", rounded.value, rounded.decimals));
}

std::string share_text(double share) {
  if (share == 0) return "0 %";
  if (share > 0 && share < 0.0005) return "<0.1 %";
  return fmt::format("{:.1f} %", share * 100);
}

std::string error_text(double share) {
  constexpr double kRatio = 9;
  if (share >= kRatio) return significant(1 + share, 3) + "x";
  std::string text = fmt::format("{:+.1f} %", 100 * share);
  return text == "-0.0 %" || text == "+0.0 %" ? "0.0 %" : text;
}

Unit time_unit(Seconds largest) {
  static constexpr Unit kUnits[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}};
  return largest_below(kUnits, largest);
}

Unit byte_unit(double largest) {
  static constexpr Unit kUnits[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}};
  return largest_below(kUnits, largest);
}

std::string in_unit(std::optional<double> value, const Unit& unit) {
  return value ? significant(*value / unit.size) : "-";
}

std::string in_unit_of_column(double value, const Unit& unit, double largest) {
  if (value == 0) return "0";
  return with_separators(fmt::format("{:.{}f}", value / unit.size, round_to(largest / unit.size, 4).decimals));
}

std::string time_text(Seconds seconds) {
  if (seconds == 0) return "0 s";
  const Unit unit = time_unit(seconds);
  return fmt::format("{} {}", in_unit(seconds, unit), unit.name);
}

std::string bytes_text(double bytes) {
  const Unit unit = byte_unit(bytes);
  return fmt::format("{} {}", in_unit(bytes, unit), unit.name);
}

std::string duration_words(Seconds seconds) {
  const std::int64_t whole = std::llround(seconds);
  if (whole < 60) return "";
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string limit_text(SimTime limit) {
  const Unit unit = time_unit(to_seconds(limit));
  return fmt::format("{:g} {}", to_seconds(limit) / unit.size, unit.name);
}

}  // namespace blockyard::report
