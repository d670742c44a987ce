// Rules around an eviction policy: what is admitted, pinned, and left to each tenant.
#include "sim/kv/eviction/keeping.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/kv/random_references.h"

namespace blockyard::kv {
namespace {

CacheCounts counts(const std::string& policy, const KeepingRules& rules, const ReferenceString& references,
                   std::int64_t capacity) {
  CacheRunOptions options;
  options.capacity = capacity;
  return run_cache_with_rules(*find_eviction(policy), rules, references, options);
}
KeepingRules admit(CacheAdmission rule) { return {rule, Blocks(0), 0}; }

// Chain `ids` of a tenant.
void add(ReferenceString& references, const std::vector<std::int64_t>& ids, std::uint32_t tenant) {
  const auto blocks = static_cast<std::int64_t>(ids.size());
  references.add(ids, references.block_size() * blocks, SimTime(), 0, tenant);
}

TEST_CASE("second_hit: what was asked for once goes before what was asked for twice") {
  // Room for two: 1 twice, then a scan, then 1 again.
  const ReferenceString references = single_blocks({1, 1, 2, 3, 4, 5, 1});
  CHECK(counts("lru", {}, references, 2).hit_blocks == 1);
  CHECK(counts("lru", admit(CacheAdmission::second_hit), references, 2).hit_blocks == 2);
}

TEST_CASE("second_hit: a content that is gone is remembered, and admitted when it comes back") {
  // Room for two. 1 goes for 3, comes back admitted, outlives 4 and 5.
  const ReferenceString references = single_blocks({1, 2, 3, 1, 4, 5, 1});
  CHECK(counts("lru", {}, references, 2).hit_blocks == 0);
  CHECK(counts("lru", admit(CacheAdmission::second_hit), references, 2).hit_blocks == 1);
}

TEST_CASE("second_hit: an admitted content that is gone is remembered as well") {
  // Room for two. 1, admitted, goes for 3; it comes back admitted, and outlives 5 and 6.
  const ReferenceString references = single_blocks({1, 1, 2, 2, 3, 3, 1, 5, 6, 1});
  CHECK(counts("lru", admit(CacheAdmission::second_hit), references, 2).hit_blocks == 4);
}

TEST_CASE("tinylfu: a newcomer goes unless it is asked for more often than the policy's victim") {
  // Room for two. 1 and 2 fill it; 3, asked for once, does not drive out 1, asked for twice, nor do 4 and 5.
  const ReferenceString references = single_blocks({1, 1, 2, 2, 3, 4, 5, 1, 2});
  CHECK(counts("lru", {}, references, 2).hit_blocks == 2);
  CHECK(counts("lru", admit(CacheAdmission::tinylfu), references, 2).hit_blocks >= 3);
  // Asked for often enough it wins: 3 comes five times.
  const ReferenceString popular = single_blocks({1, 1, 2, 2, 3, 4, 3, 4, 3, 4, 3, 4, 3, 4, 3, 4});
  CHECK(counts("fifo", admit(CacheAdmission::tinylfu), popular, 2).hit_blocks > 4);
}

TEST_CASE("admission never makes room that nobody asked for") {
  RandomStream random(3, "forest");
  const ReferenceString references = random_forest(random, 120, 2, 3, 5);
  for (const CacheAdmission rule : {CacheAdmission::second_hit, CacheAdmission::tinylfu}) {
    const CacheCounts found = counts("lru", admit(rule), references, references.contents());
    CHECK(found.evictions == 0);
    CHECK(found.hit_blocks == references.blocks() - references.contents());
  }
}

TEST_CASE("pinned beginnings outlive what comes behind them, until nothing else is left") {
  // Root 1 with children; every chain has two blocks, the first pinned. Room for three.
  ReferenceString references(Tokens(4), Lookup::raw);
  for (const std::int64_t root : {1, 2, 3, 1, 2}) add(references, {root, root + 10}, 0);
  const KeepingRules pinned{CacheAdmission::always, Blocks(1), 0};
  CHECK(counts("lru", {}, references, 3).hit_blocks == 0);
  CHECK(counts("lru", pinned, references, 4).hit_blocks == 2);  // 1 and 2 are there, their children are not
  CHECK(counts("lru", pinned, references, 2).hit_blocks == 0);  // four pinned blocks on two places: the oldest went
}

TEST_CASE("quota: a tenant's blocks beyond it go, whatever room there is, and a burst spares the others") {
  ReferenceString references(Tokens(4), Lookup::raw);
  add(references, {1, 2}, 1);
  for (std::int64_t id = 10; id < 30; ++id) add(references, {id}, 2);
  add(references, {1, 2}, 1);
  const KeepingRules half{CacheAdmission::always, Blocks(0), 0.5};
  CHECK(counts("lru", {}, references, 8).hit_blocks == 0);
  CHECK(counts("lru", half, references, 8).hit_blocks == 2);

  // Alone on eight blocks, one tenant with a quota of a quarter finds no more than two of its own.
  ReferenceString alone(Tokens(4), Lookup::raw);
  for (int round = 0; round < 2; ++round) add(alone, {1, 2, 3, 4}, 1);
  CHECK(counts("lru", {}, alone, 8).hit_blocks == 4);
  CHECK(counts("lru", {CacheAdmission::always, Blocks(0), 0.25}, alone, 8).hit_blocks == 2);
  CHECK(counts("lru", {CacheAdmission::always, Blocks(0), 0.25}, alone, 16).hit_blocks == 4);
  add(alone, {9}, 1);  // what is let go beyond the quota is gone when the next request comes
  add(alone, {1, 2, 3, 4}, 1);
  CHECK(counts("lru", {CacheAdmission::always, Blocks(0), 0.25}, alone, 8).hit_blocks < 8);
}

TEST_CASE("rules that bind nobody change nothing but when a miss is told") {
  RandomStream random(11, "forest");
  const ReferenceString references = random_forest(random, 200, 3, 3, 6);
  const KeepingRules loose{CacheAdmission::always, Blocks(0), 1};  // of one tenant
  for (const EvictionRow& row : eviction_policies()) {
    if (!why_not(row, loose).empty()) continue;
    INFO(row.name);
    const std::int64_t with = counts(row.name, loose, references, 20).hit_blocks;
    const std::int64_t without = counts(row.name, {}, references, 20).hit_blocks;
    CHECK(std::abs(with - without) <= without / 50);
  }
  for (const char* name : {"lru", "fifo", "clock", "sieve", "leaf_lru", "gdsf", "lfu"}) {
    INFO(name);
    CHECK(counts(name, loose, references, 20).hit_blocks == counts(name, {}, references, 20).hit_blocks);
  }
}

}  // namespace
}  // namespace blockyard::kv
