#include "sim/metrics/gap_histogram.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "tests/metrics/naive_quantile.h"

namespace blockyard::metrics {
namespace {

TEST_CASE("gaps of 0.1, 0.2 and 0.3 s") {
  GapHistogram h;
  for (const std::int64_t tenths : {3, 1, 2}) h.add(SimTime(tenths * 100'000'000), 1);
  CHECK(h.count() == 3);
  CHECK(h.mean_s() == 0.2);
  CHECK(h.max() == SimTime(300'000'000));
  CHECK(h.quantile_s(0) == Approx(0.1).epsilon(GapHistogram::kRelativeError));
  CHECK(h.quantile_s(0.5) == Approx(0.2).epsilon(GapHistogram::kRelativeError));
  CHECK(h.quantile_s(0.9) == Approx(0.28).epsilon(GapHistogram::kRelativeError));  // rank 1.8
  CHECK(h.quantile_s(1) == 0.3);
}

TEST_CASE("short gaps are kept exactly") {
  GapHistogram h;
  for (std::int64_t ns = 0; ns < 2048; ++ns) h.add(SimTime(ns), 1);
  for (const std::int64_t ns : {0, 1, 1000, 1023, 1024, 2046, 2047}) {
    CHECK(h.quantile_s(static_cast<double>(ns) / 2047) * 1e9 == Approx(static_cast<double>(ns)).margin(1e-6));
  }
}

TEST_CASE("the shortest and the longest gap that there can be") {
  GapHistogram h;
  h.add(SimTime(0), 1);
  h.add(SimTime(INT64_MAX), 2);
  CHECK(h.quantile_s(0) == 0);
  CHECK(h.quantile_s(1) == static_cast<double>(INT64_MAX) / 1e9);
  CHECK(h.quantile_s(0.5) == Approx(static_cast<double>(INT64_MAX) / 1e9).epsilon(GapHistogram::kRelativeError));
  CHECK(h.mean_s() == Approx(static_cast<double>(INT64_MAX) / 1e9 * 2 / 3));
}

// A gap with its bits anywhere between 1 ns and 292 years, so that every power of two has its turn.
std::int64_t any_gap() { return *rc::gen::inRange<std::int64_t>(0, INT64_MAX) >> *rc::gen::inRange(0, 62); }

TEST_CASE("a weighted insert is so many single ones, and quantiles stay within the stated error") {
  REQUIRE(rc::check([] {
    GapHistogram weighted;
    GapHistogram single;
    std::vector<std::int64_t> all;
    const int inserts = *rc::gen::inRange(1, 40);
    for (int i = 0; i < inserts; ++i) {
      const std::int64_t gap = any_gap();
      const std::int64_t count = *rc::gen::inRange<std::int64_t>(1, 30);
      weighted.add(SimTime(gap), count);
      for (std::int64_t k = 0; k < count; ++k) single.add(SimTime(gap), 1);
      all.insert(all.end(), static_cast<std::size_t>(count), gap);
    }
    RC_ASSERT(weighted.count() == static_cast<std::int64_t>(all.size()));
    RC_ASSERT(weighted.mean_s() == single.mean_s());
    RC_ASSERT(weighted.max().count() == *std::max_element(all.begin(), all.end()));
    for (const double q : {0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      const double exact = naive_quantile(all, q) / 1e9;
      RC_ASSERT(std::abs(weighted.quantile_s(q) - exact) <= exact * GapHistogram::kRelativeError * (1 + 1e-9));
      RC_ASSERT(weighted.quantile_s(q) == single.quantile_s(q));
    }
  }));
}

}  // namespace
}  // namespace blockyard::metrics
