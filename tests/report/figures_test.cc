#include "sim/report/figures.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>

namespace blockyard::report {
namespace {

std::string without_commas(std::string text) {
  std::erase(text, ',');
  return text;
}

TEST_CASE("counts have a comma before every third digit") {
  CHECK(count_text(0) == "0");
  CHECK(count_text(999) == "999");
  CHECK(count_text(1000) == "1,000");
  CHECK(count_text(1234567) == "1,234,567");
  CHECK(count_text(-1000) == "-1,000");
  CHECK(count_text(-999) == "-999");
  REQUIRE(rc::check("read back without the commas",
                    [](std::int64_t count) { RC_ASSERT(std::stoll(without_commas(count_text(count))) == count); }));
}

TEST_CASE("figures have four significant digits") {
  CHECK(significant(0) == "0");
  CHECK(significant(25) == "25.00");
  CHECK(significant(0.0123456) == "0.01235");
  CHECK(significant(123456) == "123,500");
  CHECK(significant(9.9996) == "10.00");  // rounding carries into a new digit
  CHECK(significant(9999.6) == "10,000");
  CHECK(significant(-1234.56) == "-1,235");
  CHECK(significant(1.2345, 3) == "1.23");
  REQUIRE(rc::check("within half a unit of the fourth digit", [] {
    const double mantissa = static_cast<double>(*rc::gen::inRange(1'000'000, 9'999'999)) / 1e6;
    const double value = mantissa * std::pow(10.0, *rc::gen::inRange(-9, 12));
    const double shown = std::stod(without_commas(significant(value)));
    RC_ASSERT(std::abs(shown - value) <= 0.5001e-3 * value);
  }));
}

TEST_CASE("a share of nothing is told from a very small one") {
  CHECK(share_text(0) == "0 %");
  CHECK(share_text(0.0004) == "<0.1 %");
  CHECK(share_text(0.0005) == "0.1 %");
  CHECK(share_text(0.1234) == "12.3 %");
  CHECK(share_text(1) == "100.0 %");
}

TEST_CASE("a row's unit is the largest in which its largest figure is at least 1") {
  CHECK(std::string(time_unit(1).name) == "s");
  CHECK(std::string(time_unit(0.999).name) == "ms");
  CHECK(std::string(time_unit(0.00099).name) == "us");
  CHECK(std::string(time_unit(0).name) == "us");
  CHECK(std::string(byte_unit(1 << 30).name) == "GiB");
  CHECK(std::string(byte_unit((1 << 30) - 1).name) == "MiB");
  CHECK(std::string(byte_unit(1023).name) == "B");
  CHECK(in_unit(0.25, time_unit(0.5)) == "250.0");
  CHECK(in_unit(std::nullopt, time_unit(0.5)) == "-");
  CHECK(time_text(1.5) == "1.500 s");
  CHECK(time_text(0) == "0 s");
  CHECK(bytes_text(60.0 * (1 << 30)) == "60.00 GiB");
}

TEST_CASE("figures of a column have the decimals of its largest") {
  const Unit unit = byte_unit(60.0 * (1 << 30));
  CHECK(in_unit_of_column(60.0 * (1 << 30), unit, 60.0 * (1 << 30)) == "60.00");
  CHECK(in_unit_of_column(0.9375 * (1 << 30), unit, 60.0 * (1 << 30)) == "0.94");
  CHECK(in_unit_of_column(0, unit, 60.0 * (1 << 30)) == "0");
  CHECK(in_unit_of_column(1234.0 * (1 << 30), unit, 5000.0 * (1 << 30)) == "1,234");
}

TEST_CASE("long times are said in words too") {
  CHECK(duration_words(59.4) == "");
  CHECK(duration_words(59.6) == "1 min 00 s");
  CHECK(duration_words(3512.25) == "58 min 32 s");
  CHECK(duration_words(7384) == "2 h 03 min");
}

TEST_CASE("a limit is shown as it was given") {
  CHECK(limit_text(SimTime(1'000'000'000)) == "1 s");
  CHECK(limit_text(SimTime(1'500'000'000)) == "1.5 s");
  CHECK(limit_text(SimTime(50'000'000)) == "50 ms");
  CHECK(limit_text(SimTime(250'000)) == "250 us");
}

TEST_CASE("an error has its sign, but for what rounds to zero; from ten times as much on it is a ratio") {
  CHECK(error_text(0.016) == "+1.6 %");
  CHECK(error_text(-0.2789) == "-27.9 %");
  CHECK(error_text(-0.0004) == "0.0 %");
  CHECK(error_text(0.0004) == "0.0 %");
  CHECK(error_text(-0.0006) == "-0.1 %");
  CHECK(error_text(-1) == "-100.0 %");
  CHECK(error_text(8.99) == "+899.0 %");
  CHECK(error_text(9) == "10.0x");
  CHECK(error_text(179890.053) == "180,000x");
}

}  // namespace
}  // namespace blockyard::report
