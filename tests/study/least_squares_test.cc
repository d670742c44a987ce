#include "sim/study/calibrate/least_squares.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <utility>

#include "sim/base/random.h"

using namespace blockyard::study;

namespace {

// Residuals and, by small differences, their slopes.
template <class Residuals>
Model model_of(const Residuals& residuals) {
  return [residuals](const std::vector<double>& v) {
    constexpr double kStep = 1e-6;
    Evaluation e{residuals(v), {}};
    for (std::size_t j = 0; j < v.size(); ++j) {
      std::vector<double> there = v;
      there[j] += kStep;
      std::vector<double> slope = residuals(there);
      for (std::size_t i = 0; i < slope.size(); ++i) slope[i] = (slope[i] - e.residuals[i]) / kStep;
      e.slopes.push_back(std::move(slope));
    }
    return e;
  };
}

// y = a exp(-b t) + c at 40 points.
std::vector<double> decay(const std::vector<double>& v, double a, double b, double c) {
  std::vector<double> residuals;
  for (int i = 0; i < 40; ++i) {
    const double t = i / 10.0;
    residuals.push_back(v[0] * std::exp(-v[1] * t) + v[2] - (a * std::exp(-b * t) + c));
  }
  return residuals;
}

}  // namespace

TEST_CASE("a fit finds the constants that made the data") {
  REQUIRE(rc::check([] {
    const double a = *rc::gen::inRange(50, 200) / 100.0;
    const double b = *rc::gen::inRange(50, 200) / 100.0;
    const double c = *rc::gen::inRange(0, 50) / 100.0;
    const Fit fit = fit_least_squares({{1, 0.1, 5, 1}, {1, 0.1, 5, 1}, {0.2, 0, 1, 0.2}},
                                      model_of([&](const std::vector<double>& v) { return decay(v, a, b, c); }),
                                      {.most_iterations = 60});
    RC_ASSERT(std::abs(fit.parameters[0].value - a) < 0.02);
    RC_ASSERT(std::abs(fit.parameters[1].value - b) < 0.02);
    RC_ASSERT(std::abs(fit.parameters[2].value - c) < 0.02);
    RC_ASSERT(fit.sum_after <= fit.sum_before);
  }));
}

TEST_CASE("a parameter that runs into its bound keeps its start, and what the data asked for is told") {
  const Fit fit = fit_least_squares({{1, 0.5, 1.5, 1}}, model_of([](const std::vector<double>& v) {
                                      return std::vector<double>{v[0] - 3, v[0] - 3.1, v[0] - 2.9};
                                    }));
  CHECK(fit.parameters[0].value == 1);
  CHECK(fit.parameters[0].identified == Identified::at_bound);
  CHECK(fit.parameters[0].refused == 1.5);
}

TEST_CASE("what the data cannot tell keeps its start, and is named") {
  // The second changes nothing; the third does what the first does.
  const Fit fit = fit_least_squares({{1, 0, 5, 1}, {2, 0, 5, 1}, {0.5, 0, 5, 1}, {0, -5, 5, 1}},
                                    model_of([](const std::vector<double>& v) {
                                      std::vector<double> r;
                                      for (int i = 0; i < 20; ++i) r.push_back(v[0] + v[2] + v[3] * i * 0.1 - 2.2);
                                      return r;
                                    }));
  CHECK(fit.parameters[0].identified == Identified::yes);
  CHECK(fit.parameters[0].value == Approx(1.7).margin(1e-3));
  CHECK(fit.parameters[1].identified == Identified::no_effect);
  CHECK(fit.parameters[1].value == 2);
  CHECK(fit.parameters[2].identified == Identified::like_another);
  CHECK(fit.parameters[2].like == 0);
  CHECK(fit.parameters[3].identified == Identified::no_gain);  // its start is right as it is
  CHECK(fit.parameters[3].value == 0);
}

TEST_CASE("a few outliers do not bend a fit") {
  const Fit fit = fit_least_squares({{0.5, 0, 5, 1}}, model_of([](const std::vector<double>& v) {
                                      std::vector<double> r;
                                      for (int i = 0; i < 100; ++i) r.push_back(v[0] - (i < 4 ? 40.0 : 1.0));
                                      return r;
                                    }));
  CHECK(fit.parameters[0].value == Approx(1).margin(0.02));
}

TEST_CASE("a parameter whose effect others together have is not told, though it is like none of them") {
  const Fit fit =
      fit_least_squares({{1, 0, 9, 1}, {1, 0, 9, 1}, {1, 0, 9, 1}}, model_of([](const std::vector<double>& v) {
                          std::vector<double> r;
                          for (int i = 0; i < 60; ++i) {
                            const double a = i % 3 == 0 ? 1 : 0;
                            const double b = i % 3 == 1 ? 1 : 0;
                            r.push_back((a * v[0] + b * v[1] + (a + b) * v[2]) / 3 - (2 * a + b));
                          }
                          return r;
                        }),
                        {.together = 3});
  CHECK(fit.parameters[0].identified == Identified::yes);
  CHECK(fit.parameters[1].identified == Identified::yes);
  CHECK(fit.parameters[2].identified == Identified::like_another);
}

TEST_CASE("slopes that leave out what feeds back on itself lead to the same place") {
  REQUIRE(rc::check([] {
    const double feedback = *rc::gen::inRange(30, 300) / 100.0;
    const double a = *rc::gen::inRange(50, 200) / 100.0;
    const double b = *rc::gen::inRange(50, 200) / 100.0;
    const Model whole = model_of([&](const std::vector<double>& v) { return decay({v[0], v[1], 0}, a, b, 0); });
    const Fit fit = fit_least_squares({{1, 0.1, 5, 1}, {1, 0.1, 5, 1}}, [&](const std::vector<double>& v) {
      Evaluation e = whole(v);
      for (std::vector<double>& column : e.slopes) {
        for (double& slope : column) slope /= feedback;
      }
      return e;
    });
    RC_ASSERT(std::abs(fit.parameters[0].value - a) < 0.02);
    RC_ASSERT(std::abs(fit.parameters[1].value - b) < 0.02);
  }));
}

TEST_CASE("residuals that jump with every change of the values are fitted as well as the jumps allow") {
  // Two parameters that do nearly the same, and jumps as large as what sets them apart.
  int evaluations = 0;
  const Fit fit = fit_least_squares({{1, 0, 5, 1}, {0, 0, 5, 1}}, [&](const std::vector<double>& v) {
    blockyard::RandomStream jumps(static_cast<std::uint64_t>(++evaluations), "jumps");
    Evaluation e{{}, std::vector<std::vector<double>>(2)};
    for (int i = 0; i < 400; ++i) {
      const double load = 0.1 * std::sin(i * 0.7);
      e.residuals.push_back(v[0] * (1 + load) + v[1] - (0.7 * (1 + load) + 0.5) + jumps.lognormal(1, 0.01) - 1);
      e.slopes[0].push_back(1 + load);
      e.slopes[1].push_back(1);
    }
    return e;
  });
  REQUIRE(fit.parameters[0].identified == Identified::yes);
  REQUIRE(fit.parameters[1].identified == Identified::yes);
  CHECK(fit.parameters[0].value == Approx(0.7).margin(4 * fit.parameters[0].standard_error));
  CHECK(fit.parameters[1].value == Approx(0.5).margin(4 * fit.parameters[1].standard_error));
  CHECK(fit.parameters[0].standard_error < 0.03);
  CHECK(fit.evaluations < 30);
}

TEST_CASE("a kind of residuals that jitters more counts less, whatever it is off by") {
  const Fit fit = fit_least_squares({{0.5, 0, 5, 1}},
                                    [](const std::vector<double>& v) {
                                      blockyard::RandomStream noise(7, "noise");
                                      Evaluation e{{}, std::vector<std::vector<double>>(1)};
                                      for (int i = 0; i < 100; ++i) {
                                        e.residuals.push_back(v[0] - 1 + 0.001 * std::sin(i));
                                        e.residuals.push_back(v[0] - 1.2 + noise.lognormal(1, 0.1) - 1);
                                        for (int kind = 0; kind < 2; ++kind) e.slopes[0].push_back(1);
                                      }
                                      return e;
                                    },
                                    {.together = 2});
  CHECK(fit.parameters[0].value == Approx(1).margin(1e-3));
}
