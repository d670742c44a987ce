// What no policy can save more than, where blocks differ in their cost.
#include <catch2/catch.hpp>

#include "sim/base/random.h"
#include "sim/kv/cache/cost_bound.h"
#include "sim/kv/eviction/policies.h"
#include "tests/kv/random_references.h"

namespace blockyard::kv {
namespace {

TEST_CASE("no policy saves more than the bound, whatever blocks cost") {
  for (std::uint64_t seed = 0; seed < 15; ++seed) {
    RandomStream random(seed, "forest");
    const ReferenceString references =
        random_forest(random, 120, 3, 3, 6, seed % 2 == 0 ? Lookup::raw : Lookup::full, seed % 5 == 0 ? 40 : 0);
    CacheRunOptions options;
    if (seed % 3 > 0) options.cost = {1, 2, 4, 8, 16, 32};
    if (seed % 3 > 1) options.cost = {9, 1, 1};
    const CostBound bound(references, options.cost);
    double before = 0;
    for (const std::int64_t capacity : {0, 1, 2, 4, 8, 16, 32, 64, 1'000'000}) {
      options.capacity = capacity;
      CHECK(bound.saved(capacity) >= before);
      before = bound.saved(capacity);
      for (const EvictionRow& row : eviction_policies()) {
        INFO(row.name << ", capacity " << capacity << ", seed " << seed);
        CHECK(row.run(references, options).hit_cost <= bound.saved(capacity) * (1 + 1e-12));
      }
    }
    // Without a limit there is nothing to choose.
    CHECK(bound.saved(1'000'000) == Approx(find_eviction("lru")->run(references, options).hit_cost));
    CHECK(bound.saved(1'000'000) < bound.all());
  }
}

TEST_CASE("the bound takes what is worth most for its room") {
  // Of 1 and 2, asked for in turn, a cache of one block can hold one: half of the reuses, by the room they need.
  const ReferenceString references = single_blocks({1, 2, 1, 2, 1, 2});
  const CostBound bound(references, {});
  CHECK(bound.all() == 6);
  CHECK(bound.saved(1) == Approx(3));  // room for 6 requests; each of the 4 reuses needs 2 of it
  CHECK(bound.saved(2) == Approx(4));
}

TEST_CASE("the bound: what the cache starts with has cost nothing and takes room from the first request on") {
  ReferenceString references(Tokens(1), Lookup::raw);
  const std::vector<std::int64_t> ids{1, 2, 3};
  for (const std::int64_t& id : ids) references.add_before({&id, 1}, Tokens(1), 0);
  for (const std::int64_t& id : ids) references.add({&id, 1}, Tokens(1), SimTime(), 0);
  const CostBound bound(references, {});
  CHECK(bound.all() == 3);
  // Kept for 1, 2 and 3 requests; room for 1 + 3.
  CHECK(bound.saved(1) == Approx(2 + 1.0 / 3));
  CHECK(bound.saved(3) == Approx(3));
}

}  // namespace
}  // namespace blockyard::kv
