#include "sim/workload/numbers.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/quantities.h"

namespace blockyard::workload {
namespace {

constexpr const char* kNotANumber = "not a number";
constexpr const char* kTooLarge = "too large";
constexpr int kLargestExponent = 100'000;  // beyond it the sign of the exponent alone decides

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Cursor {
  std::string_view text;
  std::size_t at = 0;

  [[nodiscard]] bool done() const { return at == text.size(); }
  [[nodiscard]] char peek() const { return done() ? '\0' : text[at]; }
  bool take(char c) {
    if (done() || text[at] != c) return false;
    ++at;
    return true;
  }
  std::string_view digits() {
    const std::size_t start = at;
    while (!done() && is_digit(text[at])) ++at;
    return text.substr(start, at - start);
  }
  // Exactly `count` digits, or -1.
  int number(std::size_t count) {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i, ++at) {
      if (done() || !is_digit(text[at])) return -1;
      value = 10 * value + (text[at] - '0');
    }
    return value;
  }
};

// Days from 1970-01-01 to a date of the Gregorian calendar, years counted from March so that the leap day comes last.
constexpr std::int64_t days_since_1970(int year, int month, int day) {
  const std::int64_t y = month <= 2 ? year - 1 : year;
  const std::int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return 365 * y + y / 4 - y / 100 + y / 400 + day_of_year - 719'468;
}
static_assert(days_since_1970(1970, 1, 1) == 0);
static_assert(days_since_1970(2000, 2, 29) + 1 == days_since_1970(2000, 3, 1));

constexpr int days_in_month(int year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return kDays[month - 1] + (month == 2 && leap ? 1 : 0);
}

// The offset of a zone in minutes, at the end of the text.
bool parse_zone(Cursor& cursor, int& minutes) {
  minutes = 0;
  if (cursor.done()) return true;
  if (cursor.take('Z') || cursor.take('z')) return cursor.done();
  const bool west = cursor.peek() == '-';
  if (!cursor.take('+') && !cursor.take('-')) return false;
  const int hour = cursor.number(2);
  const bool colon = cursor.take(':');
  const int minute = !colon && cursor.done() ? 0 : cursor.number(2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || !cursor.done()) return false;
  minutes = (west ? -1 : 1) * (60 * hour + minute);
  return true;
}

}  // namespace

Decimal parse_decimal(std::string_view text, int power) {
  Cursor cursor{text};
  const bool negative = cursor.peek() == '-';
  if (!cursor.take('-')) cursor.take('+');
  const std::string_view whole = cursor.digits();
  const std::string_view fraction = cursor.take('.') ? cursor.digits() : std::string_view();
  if (whole.empty() && fraction.empty()) return {0, true, kNotANumber};
  int exponent = 0;
  if (cursor.take('e') || cursor.take('E')) {
    const bool shrinks = cursor.peek() == '-';
    if (!cursor.take('-')) cursor.take('+');
    const std::string_view digits = cursor.digits();
    if (digits.empty()) return {0, true, kNotANumber};
    for (const char c : digits) exponent = std::min(10 * exponent + (c - '0'), kLargestExponent);
    if (shrinks) exponent = -exponent;
  }
  if (!cursor.done()) return {0, true, kNotANumber};

  // The digits, read as one number, count in units of 10^-places; those left of `cut` make the integer.
  const std::int64_t count = static_cast<std::int64_t>(whole.size() + fraction.size());
  const std::int64_t cut = static_cast<std::int64_t>(whole.size()) + exponent + power;
  const auto digit = [&](std::int64_t i) {
    const std::size_t at = static_cast<std::size_t>(i);
    return (at < whole.size() ? whole[at] : fraction[at - whole.size()]) - '0';
  };
  Decimal result;
  std::int64_t value = 0;
  for (std::int64_t i = 0; i < std::max(cut, count); ++i) {
    const int next = i < count ? digit(i) : 0;
    if (i < cut) {
      if (value == 0 && i >= count) break;  // 0e99999
      if (__builtin_mul_overflow(value, std::int64_t{10}, &value) ||
          __builtin_add_overflow(value, std::int64_t{next}, &value)) {
        return {0, true, kTooLarge};
      }
    } else {
      if (i == cut && next >= 5 && __builtin_add_overflow(value, std::int64_t{1}, &value)) return {0, true, kTooLarge};
      result.exact = result.exact && next == 0;
    }
  }
  result.value = negative ? -value : value;
  return result;
}

DateTime parse_date_time(std::string_view text) {
  constexpr const char* kForm = "not of the form YYYY-MM-DD hh:mm:ss[.fffffffff][Z|+hh:mm]";
  Cursor cursor{text};
  const int year = cursor.number(4);
  if (year < 0 || !cursor.take('-')) return {0, kForm};
  const int month = cursor.number(2);
  if (month < 0 || !cursor.take('-')) return {0, kForm};
  const int day = cursor.number(2);
  if (day < 0 || (!cursor.take(' ') && !cursor.take('T') && !cursor.take('t'))) return {0, kForm};
  const int hour = cursor.number(2);
  if (hour < 0 || !cursor.take(':')) return {0, kForm};
  const int minute = cursor.number(2);
  if (minute < 0 || !cursor.take(':')) return {0, kForm};
  const int second = cursor.number(2);
  if (second < 0) return {0, kForm};
  std::int64_t fraction_ns = 0;
  if (cursor.take('.')) {
    const std::string_view digits = cursor.digits();
    if (digits.size() > 9) return {0, "more than 9 digits of a second"};
    for (std::size_t i = 0; i < 9; ++i) fraction_ns = 10 * fraction_ns + (i < digits.size() ? digits[i] - '0' : 0);
  }
  int zone_minutes = 0;
  if (!parse_zone(cursor, zone_minutes)) return {0, kForm};
  if (year < 1970 || year > 2261) return {0, "a year outside 1970..2261"};
  if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month)) return {0, "no date of the calendar"};
  if (hour > 23 || minute > 59 || second > 59) return {0, "no time of a day"};
  const std::int64_t seconds = 86'400 * days_since_1970(year, month, day) + std::int64_t{3600} * hour +
                               std::int64_t{60} * (minute - zone_minutes) + second;
  if (seconds < 0) return {0, "before 1970"};
  return {seconds * kNanosecondsPerSecond + fraction_ns, nullptr};
}

std::string quoted(std::string_view text, std::size_t shown) {
  std::string out = "\"";
  for (const char c : text.substr(0, shown)) {
    if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  out += text.size() > shown ? "...\"" : "\"";
  return out;
}

}  // namespace blockyard::workload
