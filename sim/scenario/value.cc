#include "sim/scenario/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <system_error>
#include <vector>

#include "sim/base/check.h"
#include "sim/base/diagnostics.h"

namespace blockyard::scenario {
namespace {

constexpr std::array kTokenUnits{Unit{"tokens", 1}, Unit{"token", 1}};
constexpr std::array kBlockUnits{Unit{"blocks", 1}, Unit{"block", 1}};
constexpr std::array kByteUnits{Unit{"B", 1},         Unit{"kB", 1e3},         Unit{"MB", 1e6},
                                Unit{"GB", 1e9},      Unit{"TB", 1e12},        Unit{"KiB", 1024},
                                Unit{"MiB", 1048576}, Unit{"GiB", 1073741824}, Unit{"TiB", 1099511627776}};
constexpr std::array kTimeUnits{Unit{"ns", 1},     Unit{"us", 1e3},   Unit{"ms", 1e6},   Unit{"s", 1e9},
                                Unit{"min", 60e9}, Unit{"h", 3600e9}, Unit{"d", 86400e9}};
constexpr std::array kRateUnits{Unit{"req/s", 1}, Unit{"req/min", 1.0 / 60}, Unit{"req/h", 1.0 / 3600}};
constexpr std::array kBandwidthUnits{Unit{"B/s", 1},         Unit{"kB/s", 1e3},         Unit{"MB/s", 1e6},
                                     Unit{"GB/s", 1e9},      Unit{"TB/s", 1e12},        Unit{"KiB/s", 1024},
                                     Unit{"MiB/s", 1048576}, Unit{"GiB/s", 1073741824}, Unit{"TiB/s", 1099511627776}};
constexpr std::array kFlopUnits{Unit{"FLOP/s", 1}, Unit{"GFLOP/s", 1e9}, Unit{"TFLOP/s", 1e12}, Unit{"PFLOP/s", 1e15}};

struct KindRow {
  Kind kind;
  std::string_view noun;
  std::string_view example;
  std::string_view base_unit;
  std::span<const Unit> units;
  bool whole;  // kept as a 64-bit integer
};

constexpr std::array kKinds{
    KindRow{Kind::boolean, "true or false", "true", "", {}, true},
    KindRow{Kind::integer, "an integer", "256", "", {}, true},
    KindRow{Kind::real, "a number", "0.9", "", {}, false},
    KindRow{Kind::text, "a text", "chat", "", {}, false},
    KindRow{Kind::word, "a name", "auto", "", {}, false},
    KindRow{Kind::file, "the path of a file", "traces/day.csv", "", {}, false},
    KindRow{Kind::path, "the path of a file or a folder", "traces", "", {}, false},
    KindRow{Kind::tokens, "a number of tokens", "8192 tokens", "tokens", kTokenUnits, true},
    KindRow{Kind::blocks, "a number of blocks", "30720 blocks", "blocks", kBlockUnits, true},
    KindRow{Kind::bytes, "a size", "24 GiB", "B", kByteUnits, true},
    KindRow{Kind::time, "a time", "250 ms", "s", kTimeUnits, true},
    KindRow{Kind::rate, "a rate", "4 req/s", "req/s", kRateUnits, false},
    KindRow{Kind::bandwidth, "a bandwidth", "3.35 TB/s", "B/s", kBandwidthUnits, false},
    KindRow{Kind::flops, "a compute rate", "989 TFLOP/s", "FLOP/s", kFlopUnits, false},
};

const KindRow& row_of(Kind kind) {
  const KindRow& row = kKinds[static_cast<std::size_t>(kind)];
  CHECK_LAW(row.kind == kind, "kind {} stands in row {}", static_cast<int>(kind), static_cast<int>(row.kind));
  return row;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// .nan, -.inf and their relatives: numbers to YAML, not to us.
bool is_not_finite(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (c != '+' && c != '-' && c != '.') word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return word == "nan" || word == "inf" || word == "infinity";
}

// A decimal number: exact while it is whole and written without exponent, a double otherwise.
struct Number {
  std::optional<std::int64_t> whole;
  double real = 0;
  bool overflow = false;
};

Number read_number(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  Number number;
  std::int64_t whole = 0;
  const auto [stop, error] = std::from_chars(begin, end, whole);
  if (error == std::errc() && stop == end) number.whole = whole;
  const auto [real_stop, real_error] = std::from_chars(begin, end, number.real);
  number.overflow = real_error == std::errc::result_out_of_range || real_stop != end;
  return number;
}

// number x size as a whole count: exact where both are whole, else to the nearest. none = does not fit 64 bits.
std::optional<std::int64_t> scaled(const Number& number, double size) {
  if (number.whole) {
    std::int64_t count = 0;
    if (__builtin_mul_overflow(*number.whole, static_cast<std::int64_t>(size), &count)) return std::nullopt;
    return count;
  }
  const double count = number.real * size;
  if (!(std::abs(count) < 9.2e18)) return std::nullopt;
  return std::llround(count);
}

Reading problem(std::string text) { return {std::nullopt, std::move(text)}; }

Reading expected(const KindRow& row, std::string_view text) {
  return problem(fmt::format("expected {}, found {}", row.noun, in_quotes(text)));
}

Reading read_boolean(std::string_view text) {
  for (const std::string_view word : {"true", "True", "TRUE"}) {
    if (text == word) return {Value{.kind = Kind::boolean, .count = 1}, {}};
  }
  for (const std::string_view word : {"false", "False", "FALSE"}) {
    if (text == word) return {Value{.kind = Kind::boolean}, {}};
  }
  return expected(row_of(Kind::boolean), text);
}

Reading unit_problem(const KindRow& row, std::string_view text, std::string_view unit) {
  if (unit.empty()) {
    return problem(fmt::format("{} has no unit; expected {} in {}, such as {}", in_quotes(text), row.noun,
                               units_listed(row.kind), row.example));
  }
  std::vector<std::string> names;
  for (const Unit& known : row.units) names.emplace_back(known.name);
  return problem(fmt::format("unknown unit {} in {}; expected {} in {}{}", in_quotes(unit), in_quotes(text), row.noun,
                             units_listed(row.kind), did_you_mean(unit.substr(0, 16), names)));
}

const Unit* unit_named(const KindRow& row, std::string_view name) {
  if (row.kind == Kind::tokens && name.empty()) return row.units.data();
  for (const Unit& unit : row.units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

}  // namespace

std::span<const Unit> units_of(Kind kind) { return row_of(kind).units; }
bool is_quantity(Kind kind) { return !row_of(kind).units.empty(); }
std::string_view noun_of(Kind kind) { return row_of(kind).noun; }
std::string_view example_of(Kind kind) { return row_of(kind).example; }
std::string_view base_unit_of(Kind kind) { return row_of(kind).base_unit; }

double in_base_unit(const Value& value) {
  if (!row_of(value.kind).whole) return value.number;
  const auto count = static_cast<double>(value.count);
  return value.kind == Kind::time ? count / 1e9 : count;
}

std::string units_listed(Kind kind) {
  const std::span<const Unit> units = units_of(kind);
  std::string list;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (i > 0) list += i + 1 == units.size() ? " or " : ", ";
    list += units[i].name;
  }
  return list;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string out = "\"";
  std::size_t length = std::min(text.size(), kLongest);
  // Never cut inside a character of several bytes.
  while (length < text.size() && length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) --length;
  for (const char c : text.substr(0, length)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  if (length < text.size()) out += "...";
  return out + "\"";
}

std::optional<NumberAndUnit> split_number(std::string_view text) {
  text = trimmed(text);
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t from = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    return i - from;
  };
  if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
  std::size_t mantissa = digits();
  if (i < text.size() && text[i] == '.') {
    ++i;
    mantissa += digits();
  }
  if (mantissa == 0) return std::nullopt;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    const std::size_t before = i++;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (digits() == 0) i = before;  // the letter belongs to the unit
  }
  return NumberAndUnit{text.substr(0, i), trimmed(text.substr(i))};
}

Reading read_value(std::string_view text, Kind kind) {
  const KindRow& row = row_of(kind);
  if (kind == Kind::boolean) return read_boolean(text);
  CHECK_LAW(kind != Kind::text && kind != Kind::word && kind != Kind::file && kind != Kind::path, "{} is no number",
            row.noun);
  if (is_not_finite(text))
    return problem(fmt::format("expected {}, found {}; numbers are finite here", row.noun, text));
  const std::optional<NumberAndUnit> parts = split_number(text);
  if (!parts) return expected(row, text);
  const Unit* unit = unit_named(row, parts->unit);
  if (is_quantity(kind) && unit == nullptr) return unit_problem(row, text, parts->unit);
  if (!is_quantity(kind) && !parts->unit.empty()) return expected(row, text);

  const Number number = read_number(parts->number);
  const double size = unit == nullptr ? 1 : unit->size;
  if (number.overflow) return problem(fmt::format("{} is out of the range of numbers", in_quotes(text)));
  if (!row.whole) return {Value{.kind = kind, .number = number.real * size}, {}};

  const bool counts = kind == Kind::integer || kind == Kind::tokens || kind == Kind::blocks;
  if (counts && !number.whole && number.real != std::floor(number.real)) {
    return problem(fmt::format("expected {}, found {}, which is not whole", row.noun, in_quotes(text)));
  }
  const std::optional<std::int64_t> count = scaled(number, size);
  if (!count) return problem(fmt::format("{} does not fit 64 bits", in_quotes(text)));
  return {Value{.kind = kind, .count = *count}, {}};
}

}  // namespace blockyard::scenario
