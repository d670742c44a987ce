// The conformance suite of eviction policies: every name of the table, tried for the laws of the contract.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "sim/base/random.h"
#include "sim/kv/eviction/keeping.h"
#include "tests/kv/random_references.h"

namespace blockyard::kv {
namespace {

constexpr std::int64_t kSlots = 12;

// Drives a policy with random calls that the contract allows, checks every answer, and returns what was evicted.
class Driver {
 public:
  Driver(const EvictionRow& row, std::uint64_t seed, const KeepingRules& rules = {}) : random_(seed, "driver") {
    PolicyOptions options;
    options.capacity = options.slots = kSlots;
    options.ttl = SimTime(40);
    policy_ = make_eviction(row, rules, options, Blocks(kSlots));
  }

  std::vector<BlockId> run(int calls) {
    for (int i = 0; i < calls; ++i) step();
    return evicted_;
  }

 private:
  struct Block {
    Reference reference;
    std::int64_t owners = 1;
  };

  void step() {
    now_ += SimTime(random_.integer(0, 9));
    expire();
    switch (random_.integer(0, 4)) {
      case 0:
      case 1:
        enter();
        break;
      case 2:
        ask_again();
        break;
      case 3:
        let_some_go();
        break;
      default:
        evict(random_.integer(0, idle()));
    }
  }
  [[nodiscard]] std::int64_t idle() const {
    return std::ranges::count_if(blocks_, [](const auto& block) { return block.second.owners == 0; });
  }
  Reference reference(std::uint64_t key) {
    Reference r;
    r.key = key;
    r.parent = key < 3 ? kNoKey : key / 3;
    r.depth = static_cast<std::uint32_t>(key < 3 ? 0 : key < 9 ? 1 : 2);
    r.category = static_cast<std::uint32_t>(key % 2);
    r.tenant = static_cast<std::uint32_t>(random_.integer(0, 2));
    r.now = now_;
    r.next_use = now_.count() + random_.integer(1, 50);
    return r;
  }
  void enter() {
    const auto key = static_cast<std::uint64_t>(random_.integer(0, 26));
    for (const auto& [slot, block] : blocks_) {
      if (block.reference.key == key) return;
    }
    if (blocks_.size() == kSlots) {
      if (idle() == 0) return;
      evict(1);
    }
    BlockId slot = 0;
    while (blocks_.contains(slot)) ++slot;
    blocks_[slot] = {reference(key), 1};
    const Eviction::Entry entry{slot, blocks_[slot].reference};
    policy_->want(std::vector<std::uint64_t>{key});
    policy_->enter({&entry, 1});
    if (random_.integer(0, 1) == 0) policy_->unwant(std::vector<std::uint64_t>{key});
  }
  void ask_again() {
    if (blocks_.empty()) return;
    auto at = blocks_.begin();
    std::advance(at, random_.integer(0, static_cast<std::int64_t>(blocks_.size()) - 1));
    const Eviction::Entry entry{at->first, reference(at->second.reference.key)};
    policy_->hit({&entry, 1});
    if (at->second.owners++ == 0) policy_->hold({&at->first, 1});
  }
  void let_some_go() {
    for (auto& [slot, block] : blocks_) {
      if (block.owners == 0 || random_.integer(0, 2) > 0) continue;
      if (--block.owners == 0) policy_->let_go({&slot, 1});
    }
  }
  void evict(std::int64_t count) {
    std::vector<BlockId> out;
    policy_->evict(static_cast<std::size_t>(count), out);
    REQUIRE(static_cast<std::int64_t>(out.size()) == count);
    check(out);
  }
  void expire() {
    std::vector<BlockId> out;
    policy_->expire(now_, out);
    check(out);
  }
  void check(const std::vector<BlockId>& out) {
    for (const BlockId slot : out) {
      REQUIRE(blocks_.contains(slot));
      REQUIRE(blocks_[slot].owners == 0);
      blocks_.erase(slot);
      evicted_.push_back(slot);
    }
  }

  RandomStream random_;
  std::unique_ptr<Eviction> policy_;
  std::map<BlockId, Block> blocks_;
  SimTime now_;
  std::vector<BlockId> evicted_;
};

CacheCounts counts(const EvictionRow& row, const ReferenceString& references, std::int64_t capacity) {
  CacheRunOptions options;
  options.capacity = capacity;
  return row.run(references, options);
}

TEST_CASE(
    "eviction: a block that is held or gone is never evicted, and those let go all can be; same calls, same answers") {
  for (const EvictionRow& row : eviction_policies()) {
    INFO(row.name);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const std::vector<BlockId> evicted = Driver(row, seed).run(600);
      CHECK(evicted.size() > 20);
      CHECK(Driver(row, seed).run(600) == evicted);
    }
  }
}

TEST_CASE("rules: under every policy that they go with, the same laws hold") {
  const std::vector<KeepingRules> all{
      {CacheAdmission::second_hit, Blocks(0), 0},   {CacheAdmission::tinylfu, Blocks(0), 0},
      {CacheAdmission::always, Blocks(1), 0},       {CacheAdmission::always, Blocks(0), 0.4},
      {CacheAdmission::second_hit, Blocks(1), 0.3}, {CacheAdmission::tinylfu, Blocks(2), 0.5},
  };
  for (const EvictionRow& row : eviction_policies()) {
    for (const KeepingRules& rules : all) {
      if (!why_not(row, rules).empty()) continue;
      INFO(row.name << ", admission " << static_cast<int>(rules.admission) << ", pinned " << rules.pinned.count()
                    << ", quota " << rules.quota);
      for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const std::vector<BlockId> evicted = Driver(row, seed, rules).run(400);
        CHECK(evicted.size() > 10);
        CHECK(Driver(row, seed, rules).run(400) == evicted);
      }
    }
  }
}

TEST_CASE("eviction: no policy finds more blocks than opt, and more memory never hurts an inclusive one") {
  const EvictionRow& opt = *find_eviction("opt");
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    RandomStream random(seed, "forest");
    const ReferenceString references = random_forest(random, 150, 3, 3, 6, seed % 2 == 0 ? Lookup::raw : Lookup::full);
    for (const EvictionRow& row : eviction_policies()) {
      INFO(row.name << ", seed " << seed);
      std::int64_t before = 0;
      for (std::int64_t capacity = 0; capacity <= 60; capacity += capacity < 10 ? 1 : 10) {
        INFO("capacity " << capacity);
        const CacheCounts found = counts(row, references, capacity);
        CHECK(found.hit_blocks <= counts(opt, references, capacity).hit_blocks);
        CHECK(found.hit_blocks == counts(row, references, capacity).hit_blocks);
        CHECK(found.cached_blocks <= static_cast<double>(capacity));
        if (row.inclusive) CHECK(found.hit_blocks >= before);
        before = found.hit_blocks;
      }
    }
  }
}

TEST_CASE("eviction: where everything fits, every policy finds what was said before") {
  RandomStream random(7, "forest");
  const ReferenceString references = random_forest(random, 120, 2, 3, 5);
  const CacheCounts all = counts(*find_eviction("lru"), references, references.contents());
  CHECK(all.hit_blocks == references.blocks() - references.contents());
  CHECK(all.evictions == 0);
  for (const EvictionRow& row : eviction_policies()) {
    INFO(row.name);
    const CacheCounts found = counts(row, references, INT64_MAX);
    CHECK(found.hit_blocks == all.hit_blocks);
    CHECK(found.hit_tokens == all.hit_tokens);
    CHECK(found.stranded_blocks == 0);
  }
}

TEST_CASE("eviction: leaf_lru evicts what lru does where owners let go the deepest block first") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random(seed, "forest");
    const ReferenceString references = random_forest(random, 200, 3, 3, 6);
    for (const std::int64_t capacity : {1, 3, 7, 20, 50}) {
      const CacheCounts lru = counts(*find_eviction("lru"), references, capacity);
      const CacheCounts leaf = counts(*find_eviction("leaf_lru"), references, capacity);
      CHECK(leaf.hit_blocks == lru.hit_blocks);
      CHECK(leaf.evictions == lru.evictions);
      CHECK(leaf.stranded_blocks == 0);
    }
  }
}

TEST_CASE("ttl: what is not used within its lifetime is gone, though there is room") {
  ReferenceString references(Tokens(4), Lookup::raw);
  const std::vector<std::int64_t> ids{1, 2};
  for (const std::int64_t second : {0, 299, 598, 899}) {
    references.add(ids, Tokens(8), SimTime(second * kNanosecondsPerSecond), 0);
  }
  const CacheCounts found = counts(*find_eviction("ttl"), references, 10);
  CHECK(found.hit_blocks == 4);  // after 299 s twice, but not after 301 s
  CHECK(found.evictions == 2);
}

TEST_CASE("queue_aware spares what the next requests ask for") {
  // Two blocks of room: 1, 2 and then a stream of 3 .. 9, with 1 asked for again at the end.
  const ReferenceString references = single_blocks({1, 2, 3, 4, 5, 6, 7, 8, 9, 1});
  CHECK(counts(*find_eviction("lru"), references, 2).hit_blocks == 0);
  CHECK(counts(*find_eviction("queue_aware"), references, 2).hit_blocks == 1);
}

TEST_CASE("workload_aware learns which category comes back") {
  // Category 1 comes back after four requests, category 0 never.
  ReferenceString references(Tokens(1), Lookup::raw);
  std::int64_t fresh = 1000;
  for (std::int64_t i = 0; i < 400; ++i) {
    const bool again = i % 2 == 0;
    const std::int64_t id = again ? (i / 2) % 4 : fresh++;
    references.add({&id, 1}, Tokens(1), SimTime(i * kNanosecondsPerSecond), again ? 1 : 0);
  }
  CHECK(counts(*find_eviction("lru"), references, 5).hit_blocks == 0);
  CHECK(counts(*find_eviction("workload_aware"), references, 6).hit_blocks > 150);
}

TEST_CASE("gdsf keeps what is dear to compute again") {
  // Blocks at depth 1 cost ten times as much; roots 1 and 2 with one child each, room for three blocks.
  ReferenceString references(Tokens(1), Lookup::raw);
  const std::vector<std::int64_t> first{1, 11};
  const std::vector<std::int64_t> other{2};
  for (int i = 0; i < 10; ++i) {
    references.add(first, Tokens(2), SimTime(), 0);
    references.add(other, Tokens(1), SimTime(), 0);
    references.add({&other[0], 1}, Tokens(1), SimTime(), 0);
  }
  CacheRunOptions options;
  options.capacity = 2;
  options.cost = {1, 10};
  CHECK(find_eviction("gdsf")->run(references, options).stranded_blocks > 0);  // the child stays, its root goes
}

}  // namespace
}  // namespace blockyard::kv
