#include "sim/base/random.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

using namespace blockyard;

namespace {

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments moments(int draws, const std::function<double()>& draw) {
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < draws; ++i) {
    const double x = draw();
    sum += x;
    squares += x * x;
  }
  const double mean = sum / draws;
  return {mean, squares / draws - mean * mean};
}

}  // namespace

TEST_CASE("streams of one seed differ by purpose and repeat by name") {
  RandomStream a(1, "arrivals");
  RandomStream b(1, "arrivals");
  RandomStream c(1, "prompt_tokens");
  RandomStream d(2, "arrivals");
  const std::uint64_t first = a.next();
  CHECK(first == b.next());
  CHECK(first != c.next());
  CHECK(first != d.next());
}

// 200,000 draws: the mean of n draws of standard deviation s lies within 5 s / sqrt(n) but once in two million.
TEST_CASE("distributions have the mean and variance of their closed forms") {
  constexpr int kDraws = 200'000;
  RandomStream r(7, "moments");
  const auto near = [&](double mean, double deviation) {
    return Approx(mean).margin(5 * deviation / std::sqrt(kDraws));
  };
  SECTION("uniform") {
    const Moments m = moments(kDraws, [&] { return r.uniform(); });
    CHECK(m.mean == near(0.5, std::sqrt(1.0 / 12)));
    CHECK(m.variance == Approx(1.0 / 12).epsilon(0.02));
  }
  SECTION("integer covers both ends alike") {
    int low = 0;
    int high = 0;
    for (int i = 0; i < kDraws; ++i) {
      const std::int64_t x = r.integer(-2, 2);
      REQUIRE((x >= -2 && x <= 2));
      low += x == -2;
      high += x == 2;
    }
    CHECK(low / static_cast<double>(kDraws) == near(0.2, 0.4));
    CHECK(high / static_cast<double>(kDraws) == near(0.2, 0.4));
  }
  SECTION("exponential") {
    const Moments m = moments(kDraws, [&] { return r.exponential(3); });
    CHECK(m.mean == near(3, 3));
    CHECK(m.variance == Approx(9).epsilon(0.04));
  }
  SECTION("normal") {
    const Moments m = moments(kDraws, [&] { return r.normal(); });
    CHECK(m.mean == near(0, 1));
    CHECK(m.variance == Approx(1).epsilon(0.02));
  }
  SECTION("lognormal by mean and coefficient of variation") {
    const Moments m = moments(kDraws, [&] { return r.lognormal(1000, 0.5); });
    CHECK(m.mean == near(1000, 500));
    CHECK(std::sqrt(m.variance) == Approx(500).epsilon(0.04));
  }
  SECTION("gamma, shape below and above one") {
    for (const double shape : {0.25, 4.0}) {
      const Moments m = moments(kDraws, [&] { return r.gamma(shape, 2); });
      CHECK(m.mean == near(shape * 2, std::sqrt(shape) * 2));
      CHECK(m.variance == Approx(shape * 4).epsilon(0.06));
    }
  }
}
