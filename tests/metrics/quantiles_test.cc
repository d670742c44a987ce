#include "sim/metrics/quantiles.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <numeric>

#include "tests/metrics/naive_quantile.h"

namespace blockyard::metrics {
namespace {

TEST_CASE("quantiles of 1, 2, 3, 4 seconds as numpy's default gives them") {
  std::vector<std::int64_t> sample{3'000'000'000, 1'000'000'000, 4'000'000'000, 2'000'000'000};
  const Distribution d = distribution_of(sample);
  CHECK(d.count == 4);
  CHECK(d.mean_s == 2.5);
  CHECK(d.p50_s == 2.5);
  CHECK(*d.p90_s == Approx(3.7).epsilon(1e-15));   // rank 2.7
  CHECK(*d.p99_s == Approx(3.97).epsilon(1e-15));  // rank 2.97
  CHECK(d.max_s == 4.0);
}

TEST_CASE("no sample, no figure") {
  std::vector<std::int64_t> none;
  const Distribution d = distribution_of(none);
  CHECK(d.count == 0);
  CHECK_FALSE(d.mean_s);
  CHECK_FALSE(d.p50_s);
  CHECK_FALSE(d.p90_s);
  CHECK_FALSE(d.p99_s);
  CHECK_FALSE(d.max_s);
}

TEST_CASE("a single value is all its figures") {
  std::vector<double> one{250'000'000.0};
  const Distribution d = distribution_of(one);
  for (const auto& figure : {d.mean_s, d.p50_s, d.p90_s, d.p99_s, d.max_s}) CHECK(figure == 0.25);
}

TEST_CASE("the mean of times is exact although their sum exceeds 64 bits") {
  std::vector<std::int64_t> sample(4, INT64_MAX - 3);
  CHECK(*distribution_of(sample).mean_s == static_cast<double>(INT64_MAX - 3) / 1e9);
}

// Selection narrows the sample from quantile to quantile; sizes around 100 are where two of them share a rank's
// neighbour. Few distinct values make ties.
template <class T>
void selection_is_sorting() {
  const std::size_t size = *rc::gen::inRange<std::size_t>(1, 350);
  const std::int64_t values = *rc::gen::element<std::int64_t>(2, 50, 1'000'000'000'000);
  std::vector<T> sample(size);
  for (T& x : sample) x = static_cast<T>(*rc::gen::inRange<std::int64_t>(0, values));
  const std::vector<T> original = sample;
  const Distribution d = distribution_of(sample);
  RC_ASSERT(*d.p50_s == naive_quantile(original, 0.5) / 1e9);
  RC_ASSERT(*d.p90_s == naive_quantile(original, 0.9) / 1e9);
  RC_ASSERT(*d.p99_s == naive_quantile(original, 0.99) / 1e9);
  RC_ASSERT(*d.max_s == static_cast<double>(*std::max_element(original.begin(), original.end())) / 1e9);
  const T sum = std::accumulate(original.begin(), original.end(), T{0});
  RC_ASSERT(*d.mean_s == static_cast<double>(sum) / static_cast<double>(size) / 1e9);
}

TEST_CASE("quantiles by selection are those of the sorted sample") {
  REQUIRE(rc::check("integers", selection_is_sorting<std::int64_t>));
  REQUIRE(rc::check("doubles", selection_is_sorting<double>));
}

}  // namespace
}  // namespace blockyard::metrics
