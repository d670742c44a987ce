// The curve of lru from one pass against the cache run at every capacity, and lru against the rule written down
// naively.
#include <catch2/catch.hpp>

#include "sim/base/random.h"
#include "sim/kv/cache/reuse_distance.h"
#include "sim/kv/eviction/policies.h"
#include "tests/kv/random_references.h"

namespace blockyard::kv {
namespace {

struct Found {
  std::int64_t blocks = 0;
  std::int64_t tokens = 0;
};

// Rows in order; the leading ids that are there; then all ids touched, deepest first; then the oldest go.
Found naive_lru(const ReferenceString& references, std::int64_t capacity) {
  Found found;
  std::vector<std::uint32_t> stack;  // the oldest in front
  for (const auto& request : references.requests()) {
    const auto ids = references.ids(request);
    std::int64_t hits = 0;
    while (hits < request.looked_up && std::ranges::find(stack, ids[static_cast<std::size_t>(hits)]) != stack.end())
      ++hits;
    found.blocks += hits;
    found.tokens += std::min(hits * references.block_size().count(), request.prompt);
    for (std::uint32_t i = request.kept; i-- > 0;) {
      std::erase(stack, ids[i]);
      stack.push_back(ids[i]);
    }
    if (static_cast<std::int64_t>(stack.size()) > capacity) stack.erase(stack.begin(), stack.end() - capacity);
  }
  return found;
}

void check(const ReferenceString& references, std::int64_t largest) {
  const ReuseDistances curve(references);
  for (std::int64_t capacity = 0; capacity <= largest; ++capacity) {
    INFO("capacity " << capacity);
    CacheRunOptions options;
    options.capacity = capacity;
    const CacheCounts run = find_eviction("lru")->run(references, options);
    const Found naive = naive_lru(references, capacity);
    REQUIRE(run.hit_blocks == naive.blocks);
    REQUIRE(run.hit_tokens == naive.tokens);
    REQUIRE(curve.hit_blocks(capacity) == naive.blocks);
    REQUIRE(curve.hit_tokens(capacity) == naive.tokens);
    REQUIRE(curve.hit_requests(capacity) == run.hit_requests);
  }
  CHECK(curve.hit_blocks(curve.largest()) == curve.reused_blocks());
  if (curve.reused_blocks() > 0) CHECK(curve.hit_blocks(curve.largest() - 1) < curve.reused_blocks());
  CHECK(curve.quantile(1) == (curve.reused_blocks() > 0 ? curve.largest() : 0));
}

TEST_CASE("lru: one pass, a run at each capacity, and the naive rule count the same") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    RandomStream random(seed, "forest");
    INFO("seed " << seed);
    check(random_forest(random, 60, 3, 3, 6, seed % 2 == 0 ? Lookup::raw : Lookup::full, seed % 4 == 0 ? 20 : 0), 40);
  }
  RandomStream random(1, "keys");
  check(single_blocks(random_keys(random, 400, 30)), 100);
}

TEST_CASE("lru: ids that occur twice in a request are one block") {
  ReferenceString references(Tokens(4), Lookup::raw);
  const std::vector<std::int64_t> ids{1, 2, 1, 3};
  for (int i = 0; i < 3; ++i) references.add(ids, Tokens(16), SimTime(), 0);
  CacheRunOptions options;
  options.capacity = 4;
  for (const EvictionRow& row : eviction_policies()) {
    INFO(row.name);
    const CacheCounts found = row.run(references, options);
    CHECK(found.hit_blocks == 8);
    CHECK(found.evictions == 0);
  }
}

TEST_CASE("a request longer than the cache keeps its beginning") {
  ReferenceString references(Tokens(4), Lookup::raw);
  const std::vector<std::int64_t> ids{1, 2, 3, 4, 5};
  for (int i = 0; i < 2; ++i) references.add(ids, Tokens(20), SimTime(), 0);
  for (const EvictionRow& row : eviction_policies()) {
    INFO(row.name);
    CacheRunOptions options;
    options.capacity = 3;
    CHECK(row.run(references, options).hit_blocks == 3);
  }
}

TEST_CASE("what the cache starts with is found, and is neither asked for nor counted as evicted") {
  ReferenceString references(Tokens(4), Lookup::full);
  const std::vector<std::int64_t> first{1, 2, 3};
  const std::vector<std::int64_t> second{4, 5};
  references.add_before(first, Tokens(12), 0);
  references.add_before(second, Tokens(8), 0);
  references.add(first, Tokens(12), SimTime(), 0);
  CHECK(references.asking() == 1);
  CHECK(references.blocks() == 3);
  CHECK(references.contents() == 5);
  CHECK(references.asked_contents() == 3);
  CHECK(references.contents_before() == 5);
  for (const EvictionRow& row : eviction_policies()) {
    INFO(row.name);
    CacheRunOptions options;
    options.capacity = 5;
    const CacheCounts found = row.run(references, options);
    CHECK(found.hit_blocks == 2);  // never the last token
    CHECK(found.hit_requests == 1);
    CHECK(found.evictions == 0);
  }
  CacheRunOptions options;
  options.capacity = 3;  // 4 and 5 drove out 3 and 2
  CHECK(find_eviction("lru")->run(references, options).hit_blocks == 1);
  CHECK(find_eviction("opt")->run(references, options).hit_blocks == 2);
}

TEST_CASE("flattened: every block is a request of its own") {
  RandomStream random(5, "forest");
  const ReferenceString references = random_forest(random, 40, 2, 2, 5);
  const ReferenceString flat = references.flattened();
  CHECK(flat.blocks() == references.blocks());
  CHECK(flat.contents() == references.contents());
  CHECK(static_cast<std::int64_t>(flat.requests().size()) == references.blocks());
  CHECK(flat.prompt_tokens() == references.prompt_tokens());
  CHECK_FALSE(flat.has_chains());
  const ReferenceString warm = random_forest(random, 40, 2, 2, 5, Lookup::raw, 30);
  CHECK(warm.flattened().asked_contents() == warm.asked_contents());
  CHECK(warm.flattened().contents_before() == warm.contents_before());
}

}  // namespace
}  // namespace blockyard::kv
