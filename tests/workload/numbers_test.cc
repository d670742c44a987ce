#include "sim/workload/numbers.h"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <string>

namespace blockyard::workload {
namespace {

std::int64_t seconds(std::string_view text) {
  const Decimal number = parse_decimal(text, 9);
  INFO(text);
  REQUIRE(number.fault == nullptr);
  return number.value;
}

std::int64_t date_time(std::string_view text) {
  const DateTime time = parse_date_time(text);
  INFO(text);
  REQUIRE(time.fault == nullptr);
  return time.ns;
}

TEST_CASE("decimals become integers exactly, not through a double") {
  CHECK(seconds("0") == 0);
  CHECK(seconds("4.314579") == 4'314'579'000);
  CHECK(seconds("0.1") == 100'000'000);
  CHECK(seconds(".5") == 500'000'000);
  CHECK(seconds("5.") == 5'000'000'000);
  CHECK(seconds("+7") == 7'000'000'000);
  CHECK(seconds("-1.5") == -1'500'000'000);
  CHECK(seconds("9223372036.854775807") == INT64_MAX);
  CHECK(seconds("1e-05") == 10'000);
  CHECK(seconds("2.5E+2") == 250'000'000'000);
  CHECK(seconds("0.30000000000000004") == 300'000'000);
  CHECK(seconds("0.0000000005") == 1);
  CHECK(seconds("0.00000000049999") == 0);
  CHECK(seconds("0e99999999999") == 0);
  CHECK(seconds("1e-99999999999") == 0);
}

TEST_CASE("a decimal tells whether it had to be rounded") {
  CHECK(parse_decimal("374.0", 0).exact);
  CHECK(parse_decimal("1e3", 0).value == 1000);
  CHECK_FALSE(parse_decimal("374.5", 0).exact);
  CHECK(parse_decimal("0.0000000010", 9).exact);
  CHECK_FALSE(parse_decimal("0.00000000101", 9).exact);
}

TEST_CASE("what is no finite decimal is refused") {
  for (const char* text : {"", ".", "-", "nan", "inf", "-inf", "1e", "1e+", "0x10", "1 2", "1,5", "--1", "1.2.3"}) {
    INFO(text);
    CHECK(parse_decimal(text, 9).fault == std::string("not a number"));
  }
  for (const char* text : {"1e308", "9223372036.854775808", "99999999999999999999999", "1e99999999999"}) {
    INFO(text);
    CHECK(parse_decimal(text, 9).fault == std::string("too large"));
  }
}

TEST_CASE("every ns count written as seconds is read back") {
  REQUIRE(rc::check([](std::int64_t ns) {
    const std::uint64_t size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
    RC_PRE(ns != INT64_MIN);
    const std::string text = fmt::format("{}{}.{:09}", ns < 0 ? "-" : "", size / 1'000'000'000, size % 1'000'000'000);
    RC_ASSERT(parse_decimal(text, 9).value == ns);
  }));
}

TEST_CASE("date-times are exact to the ns") {
  CHECK(date_time("1970-01-01 00:00:00") == 0);
  // 2023-11-16 is day 19,677 since 1970: 53 years of 365 days, 13 leap days, day 320 of the year (index 319).
  CHECK(date_time("2023-11-16 18:15:46.6805900") ==
        ((53LL * 365 + 13 + 319) * 86'400 + 18 * 3600 + 15 * 60 + 46) * 1'000'000'000 + 680'590'000);
  CHECK(date_time("2023-11-16T18:15:46.6805900Z") == date_time("2023-11-16 18:15:46.68059"));
  CHECK(date_time("2024-05-10 00:00:00.009930+00:00") - date_time("2024-05-10 00:00:00+00:00") == 9'930'000);
  CHECK(date_time("2024-05-10 02:00:00+02:00") == date_time("2024-05-10 00:00:00Z"));
  CHECK(date_time("2024-05-10 00:00:00-0130") == date_time("2024-05-10 01:30:00"));
  CHECK(date_time("2024-05-10 05:00:00+05") == date_time("2024-05-10 00:00:00"));
  CHECK(date_time("2024-02-29 00:00:00") + 86'400LL * 1'000'000'000 == date_time("2024-03-01 00:00:00"));
  CHECK(date_time("2000-01-01 00:00:00.123456789") % 1'000'000'000 == 123'456'789);
}

TEST_CASE("what is no date-time is refused") {
  for (const char* text :
       {"", "2023-11-16", "2023-11-16 18:15", "2023-13-01 00:00:00", "2023-02-29 00:00:00", "2023-11-00 00:00:00",
        "2023-11-16 24:00:00", "2023-11-16 18:60:00", "2023-11-16 18:15:46.1234567890", "2023-11-16 18:15:46 UTC",
        "2023-11-16 18:15:46+1", "2023-11-16 18:15:46+01:00x", "1969-12-31 23:59:59", "1970-01-01 00:00:00+01:00",
        "9999-01-01 00:00:00", "nan", "1e308", "2023/11/16 18:15:46"}) {
    INFO(text);
    CHECK(parse_date_time(text).fault != nullptr);
  }
}

TEST_CASE("found text is quoted printable and short") {
  CHECK(quoted("a\tb") == "\"a\\x09b\"");
  CHECK(quoted(std::string(100, 'x'), 3) == "\"xxx...\"");
}

}  // namespace
}  // namespace blockyard::workload
