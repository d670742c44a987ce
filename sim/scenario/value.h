// A value as a scenario file writes it, and as the program takes it. A kind says how the text is read, in which units,
// and what it becomes:
//
//   boolean    true | false                                        bool
//   integer    256, 1e6                                            std::int64_t
//   real       0.9, 1e-3                                           double
//   text       anything but nothing                                std::string
//   word       one of the words of the key (enumerations, "auto")  std::string
//   file       an existing file, relative to the file it stands in std::filesystem::path
//   path       an existing file or folder, likewise                std::filesystem::path
//   tokens     8192, 8192 tokens                                   Tokens
//   blocks     30720 blocks                                        Blocks
//   bytes      24 GiB, 60 GB, 512 B (GB = 10^9, GiB = 2^30)        Bytes, to the nearest byte
//   time       250 ms, 1.5 s, 2 h                                  SimTime, to the nearest ns
//   rate       4 req/s, 90 req/min                                 double, requests per second
//   bandwidth  3.35 TB/s, 25 GiB/s                                 double, bytes per second
//   flops      989 TFLOP/s                                         double, operations per second
//
// Numbers are decimal; NaN and infinity are not numbers here. Whole quantities written whole are exact over 64 bits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace blockyard::scenario {

enum class Kind { boolean, integer, real, text, word, file, path, tokens, blocks, bytes, time, rate, bandwidth, flops };

struct Value {
  Kind kind = Kind::text;
  std::int64_t count = 0;  // boolean (0, 1), integer, tokens, blocks, bytes, time (ns)
  double number = 0;       // real, rate, bandwidth, flops
  std::string text{};      // text, word, file and path (resolved)
};

// A unit and its size in the kind's base unit: bytes, ns, requests/s, bytes/s, FLOP/s.
struct Unit {
  std::string_view name;
  double size;
};

[[nodiscard]] std::span<const Unit> units_of(Kind kind);     // none for kinds without units
[[nodiscard]] bool is_quantity(Kind kind);                   // has units (for tokens, optional)
[[nodiscard]] std::string_view noun_of(Kind kind);           // "an integer", "a time"
[[nodiscard]] std::string_view example_of(Kind kind);        // "250 ms"
[[nodiscard]] std::string_view base_unit_of(Kind kind);      // of limits: "s" for time, "B" for bytes, "" without
[[nodiscard]] double in_base_unit(const Value& value);       // of a number or quantity; time in seconds
[[nodiscard]] std::string units_listed(Kind kind);           // "ns, us, ms, s, min, h or d"
[[nodiscard]] std::string in_quotes(std::string_view text);  // in quotes, cut where long, control characters escaped

// A number followed by a unit, or by nothing ("" then). nullopt: the text does not start with a number.
struct NumberAndUnit {
  std::string_view number;
  std::string_view unit;
};
[[nodiscard]] std::optional<NumberAndUnit> split_number(std::string_view text);

// The text as a value of a numeric or boolean kind or as a quantity. On failure `problem` says what was expected and
// what was found; with it come the accepted units where the unit is at fault.
struct Reading {
  std::optional<Value> value;
  std::string problem;
};
[[nodiscard]] Reading read_value(std::string_view text, Kind kind);

}  // namespace blockyard::scenario
