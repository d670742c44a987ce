// opt is optimal: against an exhaustive search on small random forests, where a cache may keep any of what it had and
// was asked for.
#include <bit>
#include <catch2/catch.hpp>
#include <map>

#include "sim/base/random.h"
#include "sim/kv/eviction/policies.h"
#include "tests/kv/random_references.h"

namespace blockyard::kv {
namespace {

// The most leading blocks that can be found, over all choices of what to keep after each request.
class Search {
 public:
  Search(const ReferenceString& references, std::int64_t capacity) : references_(references), capacity_(capacity) {}

  std::int64_t best(std::size_t request = 0, std::uint32_t cached = 0) {
    if (request == references_.requests().size()) return 0;
    const auto [known, is_new] = known_.try_emplace({request, cached}, 0);
    if (!is_new) return known->second;
    const auto& asked = references_.requests()[request];
    const auto ids = references_.ids(asked);
    std::int64_t hits = 0;
    while (hits < asked.looked_up && (cached >> ids[static_cast<std::size_t>(hits)] & 1U) != 0) ++hits;
    std::uint32_t there = cached;
    for (std::uint32_t i = 0; i < asked.kept; ++i) there |= 1U << ids[i];
    std::int64_t later = 0;
    if (std::popcount(there) <= capacity_) {
      later = best(request + 1, there);  // keeping more is never worse
    } else {
      for (std::uint32_t keep = there; keep != 0; keep = (keep - 1) & there) {
        if (std::popcount(keep) == capacity_) later = std::max(later, best(request + 1, keep));
      }
    }
    return known_[{request, cached}] = hits + later;
  }

 private:
  const ReferenceString& references_;
  std::int64_t capacity_;
  std::map<std::pair<std::size_t, std::uint32_t>, std::int64_t> known_;
};

TEST_CASE("opt finds as many blocks as an exhaustive search") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomStream random(seed, "forest");
    const Lookup lookup = seed % 2 == 0 ? Lookup::raw : Lookup::full;
    const std::int64_t before = seed % 3 == 0 ? 4 : 0;
    const ReferenceString references = random_forest(random, 9, 2, 2, 3, lookup, before);
    if (references.contents() > 14) continue;
    for (std::int64_t capacity = 1; capacity <= 5; ++capacity) {
      INFO("seed " << seed << ", capacity " << capacity);
      CacheRunOptions options;
      options.capacity = capacity;
      const CacheCounts found = find_eviction("opt")->run(references, options);
      REQUIRE(found.hit_blocks == Search(references, capacity).best());
      CHECK(found.stranded_blocks == 0);
    }
  }
}

}  // namespace
}  // namespace blockyard::kv
