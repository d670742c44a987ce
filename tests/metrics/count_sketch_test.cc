#include "sim/metrics/count_sketch.h"

#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

namespace blockyard::metrics {
namespace {

TEST_CASE("a value read back by its rank is within 0.05 %") {
  REQUIRE(rc::check("any sample", [] {
    const auto zeros = *rc::gen::inRange<std::int64_t>(0, 5);
    std::vector<std::int64_t> sample(static_cast<std::size_t>(zeros), 0);
    CountSketch sketch;
    for (int i = *rc::gen::inRange(1, 30); i > 0; --i) {
      // Over all powers of two.
      const std::int64_t value = (*rc::gen::inRange<std::int64_t>(1, 1LL << 62)) >> *rc::gen::inRange(0, 62);
      if (value == 0) continue;
      sketch.add(value);
      sample.push_back(value);
    }
    std::sort(sample.begin(), sample.end());
    for (std::size_t rank = 0; rank < sample.size(); ++rank) {
      const auto exact = static_cast<double>(sample[rank]);
      RC_ASSERT(std::abs(sketch.from_top(static_cast<std::int64_t>(sample.size() - 1 - rank)) - exact) <=
                0.0005 * exact);
    }
  }));
}

}  // namespace
}  // namespace blockyard::metrics
