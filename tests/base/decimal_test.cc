#include "sim/base/decimal.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <string>

namespace blockyard {
namespace {

std::string text_of(std::int64_t value, int places) {
  fmt::memory_buffer out;
  append_decimal(out, value, places);
  return fmt::to_string(out);
}

TEST_CASE("decimals are exact and have no trailing zeros") {
  CHECK(text_of(0, 9) == "0");
  CHECK(text_of(1, 9) == "0.000000001");
  CHECK(text_of(-1, 9) == "-0.000000001");
  CHECK(text_of(4'314'489'000, 9) == "4.314489");
  CHECK(text_of(5'000'000'000, 9) == "5");
  CHECK(text_of(-1'500'000'000, 9) == "-1.5");
  CHECK(text_of(1'000'000'001, 6) == "1000.000001");
  CHECK(text_of(70, 0) == "70");
  CHECK(text_of(INT64_MIN, 18) == "-9.223372036854775808");
}

TEST_CASE("the digits of a decimal are those of its integer") {
  REQUIRE(rc::check([] {
    const std::int64_t value = *rc::gen::arbitrary<std::int64_t>();
    const int places = *rc::gen::inRange(0, 19);
    std::string text = text_of(value, places);
    const std::size_t point = text.find('.');
    const std::size_t below = point == std::string::npos ? 0 : text.size() - point - 1;
    RC_ASSERT(below <= static_cast<std::size_t>(places));
    if (point != std::string::npos) text.erase(point, 1);
    text.append(static_cast<std::size_t>(places) - below, '0');
    RC_ASSERT(std::stoll(text) == value);
  }));
}

}  // namespace
}  // namespace blockyard
