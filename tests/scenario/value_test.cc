// Quantities in closed form: each unit is worth what it says, whole numbers stay exact over 64 bits.
#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sim/scenario/value.h"

using namespace blockyard::scenario;

namespace {

std::int64_t count(std::string_view text, Kind kind) {
  const Reading reading = read_value(text, kind);
  INFO(text << ": " << reading.problem);
  REQUIRE(reading.value);
  CHECK(reading.value->kind == kind);
  return reading.value->count;
}

double number(std::string_view text, Kind kind) {
  const Reading reading = read_value(text, kind);
  INFO(text << ": " << reading.problem);
  REQUIRE(reading.value);
  return reading.value->number;
}

std::string problem(std::string_view text, Kind kind) {
  const Reading reading = read_value(text, kind);
  REQUIRE_FALSE(reading.value);
  return reading.problem;
}

}  // namespace

TEST_CASE("bytes: GB is 10^9, GiB is 2^30") {
  CHECK(count("512 B", Kind::bytes) == 512);
  CHECK(count("1 kB", Kind::bytes) == 1'000);
  CHECK(count("2 MB", Kind::bytes) == 2'000'000);
  CHECK(count("60 GB", Kind::bytes) == 60'000'000'000);
  CHECK(count("1 TB", Kind::bytes) == 1'000'000'000'000);
  CHECK(count("1 KiB", Kind::bytes) == 1'024);
  CHECK(count("3 MiB", Kind::bytes) == 3 * 1'048'576);
  CHECK(count("24 GiB", Kind::bytes) == 24LL << 30);
  CHECK(count("1 TiB", Kind::bytes) == 1LL << 40);
  CHECK(count("58.5 GiB", Kind::bytes) == (117LL << 30) / 2);
  CHECK(count("25250627584 B", Kind::bytes) == 25'250'627'584);
  CHECK(count("9007199254740993 B", Kind::bytes) == 9'007'199'254'740'993);  // 2^53 + 1: no double holds it
}

TEST_CASE("times become nanoseconds, rounded once") {
  CHECK(count("7 ns", Kind::time) == 7);
  CHECK(count("5.26 us", Kind::time) == 5'260);
  CHECK(count("250 ms", Kind::time) == 250'000'000);
  CHECK(count("0.1 s", Kind::time) == 100'000'000);
  CHECK(count("1.5s", Kind::time) == 1'500'000'000);
  CHECK(count("2 min", Kind::time) == 120'000'000'000);
  CHECK(count("2 h", Kind::time) == 7'200'000'000'000);
  CHECK(count("1 d", Kind::time) == 86'400'000'000'000);
  CHECK(count("0.0004 us", Kind::time) == 0);
  CHECK(count("0.0006 us", Kind::time) == 1);
}

TEST_CASE("rates, bandwidths and compute rates are doubles in their base unit") {
  CHECK(number("4 req/s", Kind::rate) == 4.0);
  CHECK(number("90 req/min", Kind::rate) == Approx(1.5).epsilon(1e-15));
  CHECK(number("7200 req/h", Kind::rate) == Approx(2.0).epsilon(1e-15));
  CHECK(number("3.35 TB/s", Kind::bandwidth) == 3.35e12);
  CHECK(number("25 GiB/s", Kind::bandwidth) == 25.0 * 1073741824);
  CHECK(number("989 TFLOP/s", Kind::flops) == 989e12);
  CHECK(number("2.25 PFLOP/s", Kind::flops) == 2.25e15);
  CHECK(number("1e-3", Kind::real) == 1e-3);
  CHECK(number(".5", Kind::real) == 0.5);
  CHECK(number("+2", Kind::real) == 2.0);
}

TEST_CASE("tokens may stand without a unit, blocks may not") {
  CHECK(count("8192", Kind::tokens) == 8192);
  CHECK(count("8192 tokens", Kind::tokens) == 8192);
  CHECK(count("1 token", Kind::tokens) == 1);
  CHECK(count("1e6", Kind::tokens) == 1'000'000);
  CHECK(count("30720 blocks", Kind::blocks) == 30720);
  CHECK(problem("30720", Kind::blocks) ==
        R"("30720" has no unit; expected a number of blocks in blocks or block, such as 30720 blocks)");
}

TEST_CASE("what is wrong with a value is said, with the accepted units") {
  CHECK(problem("many", Kind::integer) == R"(expected an integer, found "many")");
  CHECK(problem("256 seqs", Kind::integer) == R"(expected an integer, found "256 seqs")");
  CHECK(problem("2.5", Kind::integer) == R"(expected an integer, found "2.5", which is not whole)");
  CHECK(problem("0.5 tokens", Kind::tokens) ==
        R"(expected a number of tokens, found "0.5 tokens", which is not whole)");
  CHECK(problem("9223372036854775808", Kind::integer) == R"("9223372036854775808" does not fit 64 bits)");
  CHECK(problem("1e30 GiB", Kind::bytes) == R"("1e30 GiB" does not fit 64 bits)");
  CHECK(problem("9999999999 GiB", Kind::bytes) == R"("9999999999 GiB" does not fit 64 bits)");
  CHECK(problem("1e999", Kind::real) == R"("1e999" is out of the range of numbers)");
  CHECK(problem("yes", Kind::boolean) == R"(expected true or false, found "yes")");
  CHECK(problem("250", Kind::time) ==
        R"("250" has no unit; expected a time in ns, us, ms, s, min, h or d, such as 250 ms)");
  CHECK(problem("250 msec", Kind::time) ==
        R"(unknown unit "msec" in "250 msec"; expected a time in ns, us, ms, s, min, h or d)");
  CHECK(
      problem("24 gib", Kind::bytes) ==
      R"(unknown unit "gib" in "24 gib"; expected a size in B, kB, MB, GB, TB, KiB, MiB, GiB or TiB; did you mean "GiB"?)");
  CHECK(problem("4 GiB", Kind::time) ==
        R"(unknown unit "GiB" in "4 GiB"; expected a time in ns, us, ms, s, min, h or d)");
  CHECK(
      problem("989 TFLOPS", Kind::flops) ==
      R"(unknown unit "TFLOPS" in "989 TFLOPS"; expected a compute rate in FLOP/s, GFLOP/s, TFLOP/s or PFLOP/s; did you mean "TFLOP/s"?)");
}

TEST_CASE("numbers are finite") {
  for (const char* text : {".nan", ".NaN", "nan", ".inf", "-.inf", "+.Inf", "inf", "Infinity"}) {
    for (const Kind kind : {Kind::integer, Kind::real, Kind::tokens, Kind::time, Kind::bandwidth}) {
      CHECK(problem(text, kind) == fmt::format("expected {}, found {}; numbers are finite here", noun_of(kind), text));
    }
  }
}

TEST_CASE("long and unprintable texts are quoted in short") {
  CHECK(in_quotes("a\tb\x7f") == R"("a\x09b\x7f")");
  CHECK(in_quotes(std::string(100, 'x')) == "\"" + std::string(60, 'x') + "...\"");
  // "ä" is two bytes; 59 + 2 would be cut in its middle.
  CHECK(in_quotes(std::string(59, 'x') + "ää") == "\"" + std::string(59, 'x') + "...\"");
}

TEST_CASE("every unit: n units are n times one unit") {
  REQUIRE(rc::check([] {
    const auto kind = *rc::gen::element(Kind::tokens, Kind::blocks, Kind::bytes, Kind::time);
    const std::span<const Unit> units = units_of(kind);
    const Unit unit = units[*rc::gen::inRange<std::size_t>(0, units.size())];
    const auto n = *rc::gen::inRange<std::int64_t>(0, 50'000);
    const Reading reading = read_value(fmt::format("{} {}", n, unit.name), kind);
    RC_ASSERT(reading.value.has_value());
    RC_ASSERT(reading.value->count == n * static_cast<std::int64_t>(unit.size));
  }));
}

TEST_CASE("any text at all is a value or a problem") {
  REQUIRE(rc::check([](const std::string& text) {
    for (const Kind kind : {Kind::boolean, Kind::integer, Kind::real, Kind::tokens, Kind::blocks, Kind::bytes,
                            Kind::time, Kind::rate, Kind::bandwidth, Kind::flops}) {
      const Reading reading = read_value(text, kind);
      RC_ASSERT(reading.value.has_value() == reading.problem.empty());
    }
  }));
}
