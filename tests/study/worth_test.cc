#include "sim/study/calibrate/worth.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/base/random.h"

using namespace blockyard;
using namespace blockyard::study;

namespace {

// y = slope x + noise at 80 points, fitted by a line through 0; to_start goes back to a slope of 0. Residuals and
// columns as a fit leaves them.
LinearisedFit line_fit(double slope, double noise, RandomStream& draws) {
  LinearisedFit fit;
  Vector y;
  Vector x;
  for (int i = 0; i < 80; ++i) {
    x.push_back(1 + i % 5);
    y.push_back(slope * x.back() + noise * draws.normal());
  }
  const double best = dot(x, y) / dot(x, x);
  for (std::size_t i = 0; i < x.size(); ++i) fit.residuals.push_back(best * x[i] - y[i]);
  fit.columns = {x};
  fit.to_start = {-best};
  return fit;
}

}  // namespace

TEST_CASE("a parameter that is there holds, one that is not does so as rarely as two standard errors let it") {
  RandomStream draws(1, "worth");
  int held_though_nothing = 0;
  for (int i = 0; i < 200; ++i) {
    CHECK(worth_of(line_fit(1, 0.5, draws), {false})[0].holds);
    if (worth_of(line_fit(0, 0.5, draws), {false})[0].holds) ++held_though_nothing;
  }
  CHECK(held_though_nothing < 20);
}

TEST_CASE("the jackknife's standard error is the one of independent residuals where they are independent") {
  RandomStream draws(2, "worth");
  double mean = 0;
  for (int i = 0; i < 300; ++i) mean += worth_of(line_fit(1, 0.5, draws), {false})[0].standard_error / 300;
  // sigma / sqrt(sum of x^2) = 0.5 / sqrt(16 x 55)
  CHECK(mean == Approx(0.5 / std::sqrt(880.0)).epsilon(0.1));
}

TEST_CASE("what a single stretch says of a parameter nobody foretells") {
  LinearisedFit fit;
  fit.columns = {Vector(80, 0.0)};
  fit.residuals = Vector(80, 0.1);
  for (std::size_t i = 0; i < 10; ++i) {
    fit.columns[0][i] = 1;
    fit.residuals[i] = 0;
  }
  fit.to_start = {-1};
  const Worth worth = worth_of(fit, {false})[0];
  CHECK_FALSE(worth.holds);
  CHECK(std::isinf(worth.standard_error));
}

TEST_CASE("held parameters are at their start while the others are judged") {
  // Two parameters of one effect: each is worth nothing beside the other, and all where the other is held.
  RandomStream draws(3, "worth");
  LinearisedFit fit = line_fit(1, 0.1, draws);
  Vector other = fit.columns[0];
  for (std::size_t i = 0; i < other.size(); ++i) other[i] += 0.01 * draws.normal();
  fit.columns.push_back(other);
  fit.to_start.push_back(0);
  CHECK(worth_of(fit, {false, true})[0].holds);
}

TEST_CASE("what mends one kind of residuals holds though another is as bad as before") {
  RandomStream draws(4, "worth");
  LinearisedFit fit;
  fit.together = 2;
  fit.columns = {{}};
  for (int i = 0; i < 64; ++i) {
    fit.columns[0].insert(fit.columns[0].end(), {1, 0});
    fit.residuals.insert(fit.residuals.end(), {0.1 * draws.normal(), 20 * draws.normal()});
  }
  fit.to_start = {1};
  CHECK(worth_of(fit, {false})[0].holds);
  fit.to_start = {0};
  CHECK_FALSE(worth_of(fit, {false})[0].holds);
}
