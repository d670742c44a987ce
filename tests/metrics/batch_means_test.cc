#include "sim/metrics/batch_means.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/base/random.h"

using namespace blockyard;
using metrics::BatchMeans;

TEST_CASE("batch means: nothing is known before 20 batches, and nothing of a mean of 0") {
  BatchMeans few;
  for (int i = 0; i < 20 * 16 - 1; ++i) few.add(3);
  CHECK_FALSE(few.mean());
  CHECK(few.add(3));
  CHECK(*few.mean() == 3);
  CHECK(*few.relative_half_width() == 0);
  BatchMeans none;
  for (int i = 0; i < 20 * 16; ++i) none.add(0);
  CHECK_FALSE(none.relative_half_width());
}

// Of 1,000 intervals 950 hold the true mean, with a standard deviation of 6.9; of the width, t / sqrt(n) of the values'
// own deviation is expected.
TEST_CASE("batch means: 95 % of the intervals of independent values hold their mean") {
  RandomStream stream(5, "values");
  int held = 0;
  double widths = 0;
  for (int run = 0; run < 1000; ++run) {
    BatchMeans values;
    for (int i = 0; i < 20 * 16; ++i) values.add(stream.exponential(2));
    held += std::abs(*values.mean() - 2) <= *values.relative_half_width() * *values.mean() ? 1 : 0;
    widths += *values.relative_half_width();
  }
  CHECK(std::abs(held - 950) <= 4.5 * 6.9);
  CHECK(widths / 1000 == Approx(2.093 / std::sqrt(320)).epsilon(0.05));
}

// x' = a x + noise has a mean whose variance is (1 + a) / (1 - a) times that of independent values: with a = 0.9 an
// interval that took them for such would be 4.4 times too narrow.
TEST_CASE("batch means: correlated values widen the interval") {
  RandomStream stream(6, "values");
  BatchMeans values;
  double x = 0;
  for (int i = 0; i < 16 * 1024 * 20; ++i) {
    x = 0.9 * x + stream.normal();
    values.add(100 + x);
  }
  CHECK(values.batch_size() == 16 * 1024);
  const double deviation = 1 / std::sqrt(1 - 0.81) * std::sqrt(1.9 / 0.1 / (16.0 * 1024 * 20));
  CHECK(*values.relative_half_width() == Approx(2.093 * deviation / 100).epsilon(0.75));
  CHECK(*values.relative_half_width() > 2 * 2.093 * deviation / 100 / 4.4);
}
