// Tiers below the GPU: when they are written, what falls from one to the next, and what a fetch takes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "sim/base/random.h"
#include "sim/kv/allocator/paged_cached.h"
#include "sim/kv/tiers/lower_tiers.h"

namespace blockyard::kv {
namespace {

// 10 ns a block over the host link, 100 over a store's; links never wait for each other. Computing takes 7 ns a token.
class CountingLinks final : public TierLinks {
 public:
  SimTime gpu_to_host(SimTime /*now*/, SimTime ready, std::int64_t blocks) override {
    out += blocks;
    return ready + SimTime(10 * blocks);
  }
  SimTime host_to_gpu(SimTime /*now*/, SimTime ready, std::int64_t blocks) override {
    in += blocks;
    return ready + SimTime(10 * blocks);
  }
  SimTime store(Tier tier, SimTime /*now*/, SimTime ready, std::int64_t blocks) override {
    stored[tier] += blocks;
    return ready + SimTime(100 * blocks);
  }
  SimTime load(Tier tier, SimTime /*now*/, SimTime ready, std::int64_t blocks) override {
    loaded[tier] += blocks;
    return ready + SimTime(100 * blocks);
  }
  [[nodiscard]] SimTime would_fetch(SimTime /*now*/, const TierBlocks& blocks) const override {
    return SimTime(10 * (blocks[0] + blocks[1] + blocks[2]) + 100 * (blocks[1] + blocks[2]));
  }
  [[nodiscard]] SimTime would_compute(Tokens from, Tokens to) override { return SimTime(7 * (to - from).count()); }

  std::int64_t out = 0;
  std::int64_t in = 0;
  std::map<Tier, std::int64_t> stored;
  std::map<Tier, std::int64_t> loaded;
};

TierOptions tier(Tier which, std::int64_t blocks, TierWrite write) {
  return {which, Blocks(blocks), write, find_eviction("lru"), {}};
}
TiersOptions tiers(CountingLinks& links, std::vector<TierOptions> list) {
  TiersOptions options;
  options.tiers = std::move(list);
  options.links = &links;
  return options;
}

Eviction::Entry block(BlockId slot, std::uint64_t key) {
  Eviction::Entry entry;
  entry.slot = slot;
  entry.reference.key = key;
  return entry;
}
void enter(LowerTiers& tiers, BlockId slot, std::uint64_t key) {
  const Eviction::Entry entry = block(slot, key);
  tiers.entered({&entry, 1});
}
SimTime evict(LowerTiers& tiers, BlockId slot) { return tiers.evicted({&slot, 1}); }
std::int32_t found(LowerTiers& tiers, std::vector<std::uint64_t> keys) { return tiers.find(keys, 0).blocks; }
CacheLedger ledger_of(const LowerTiers& tiers) {
  CacheLedger ledger;
  tiers.describe(ledger);
  return ledger;
}

constexpr Tokens kBlock{16};

TEST_CASE("tiers: written through when computed, that is when the next step begins") {
  CountingLinks links;
  LowerTiers below(tiers(links, {tier(Tier::host, 4, TierWrite::write_through)}), kBlock, 8);
  below.advance(SimTime(0));
  enter(below, 1, 11);
  CHECK(found(below, {11}) == 0);
  below.advance(SimTime(50));
  CHECK(found(below, {11, 12}) == 1);
  CHECK(links.out == 1);
  // The copy ends at 60: who takes the block before waits until then.
  CHECK(evict(below, 1) == SimTime(60));
  const Eviction::Entry wanted = block(kNoBlock, 11);
  below.advance(SimTime(100));
  CHECK(below.fetch({&wanted, 1}) == SimTime(110));
}

TEST_CASE("tiers: written back when let go; a block that was taken by then is not") {
  CountingLinks links;
  LowerTiers below(tiers(links, {tier(Tier::host, 4, TierWrite::write_back)}), kBlock, 8);
  enter(below, 1, 11);
  enter(below, 2, 12);
  below.advance(SimTime(50));
  CHECK(links.out == 0);
  const std::vector<BlockId> idle{1, 2};
  below.let_go(idle);
  CHECK(evict(below, 2) == SimTime(50));
  below.advance(SimTime(60));
  CHECK(links.out == 1);
  CHECK(found(below, {11}) == 1);
  CHECK(found(below, {12}) == 0);
}

TEST_CASE("tiers: on eviction the GPU waits for the copy, once for what is there already") {
  CountingLinks links;
  LowerTiers below(tiers(links, {tier(Tier::host, 4, TierWrite::on_eviction)}), kBlock, 8);
  below.advance(SimTime(50));
  enter(below, 1, 11);
  CHECK(evict(below, 1) == SimTime(60));
  enter(below, 1, 11);
  CHECK(evict(below, 1) == SimTime(50));
  CHECK(links.out == 1);
  CHECK(ledger_of(below).waited_for_writes == SimTime(10));
}

TEST_CASE("tiers: what the host gives up falls to the store, and comes back through the host") {
  CountingLinks links;
  LowerTiers below(
      tiers(links, {tier(Tier::host, 2, TierWrite::on_eviction), tier(Tier::nvme, 8, TierWrite::on_eviction)}), kBlock,
      8);
  for (BlockId i = 1; i <= 3; ++i) {
    enter(below, i, 10 + i);
    evict(below, i);
  }
  CHECK(links.stored[Tier::nvme] == 1);  // 11
  CHECK(found(below, {11, 12, 13}) == 3);
  below.advance(SimTime(1000));
  const Eviction::Entry wanted = block(kNoBlock, 11);
  CHECK(below.fetch({&wanted, 1}) == SimTime(1110));
  const CacheLedger ledger = ledger_of(below);
  CHECK(ledger.tiers[0].hit_tokens == 0);
  CHECK(ledger.tiers[1].hit_tokens == 16);
  CHECK(ledger.tiers[0].used_blocks == 2);
  CHECK(links.stored[Tier::nvme] == 2);  // 12 had to go for 11
  // It is in the host now.
  CHECK(below.fetch({&wanted, 1}) == SimTime(1110));
  CHECK(ledger_of(below).tiers[0].hit_tokens == 16);
}

TEST_CASE("tiers: fetched only where that takes less time than computing") {
  CountingLinks links;
  TiersOptions options =
      tiers(links, {tier(Tier::host, 4, TierWrite::on_eviction), tier(Tier::nvme, 4, TierWrite::write_through)});
  LowerTiers below(options, kBlock, 8);
  enter(below, 1, 11);
  enter(below, 2, 12);
  evict(below, 1);               // to the host
  below.advance(SimTime(1000));  // 12 to the store, where it is at 1110
  CHECK(below.find(std::vector<std::uint64_t>{12}, 0).worth_fetching == 0);
  below.advance(SimTime(1110));
  // A block takes 112 ns to compute; 10 from the host, 110 from the store, which will do.
  CHECK(below.find(std::vector<std::uint64_t>{11}, 0).worth_fetching == 1);
  CHECK(below.find(std::vector<std::uint64_t>{12}, 0).worth_fetching == 1);
  LowerTiers smaller(options, Tokens(8), 8);
  enter(smaller, 2, 12);
  smaller.advance(SimTime(1000));
  smaller.advance(SimTime(2000));
  CHECK(smaller.find(std::vector<std::uint64_t>{12}, 0).blocks == 1);
  CHECK(smaller.find(std::vector<std::uint64_t>{12}, 0).worth_fetching == 0);
  options.always_load = true;
  LowerTiers always(options, Tokens(8), 8);
  enter(always, 2, 12);
  always.advance(SimTime(1000));
  CHECK(always.find(std::vector<std::uint64_t>{12}, 0).worth_fetching == 1);
}

TEST_CASE("tiers: what a waiting request will ask for is brought to the host, unless the GPU has it") {
  CountingLinks links;
  TiersOptions options =
      tiers(links, {tier(Tier::host, 8, TierWrite::write_back), tier(Tier::remote, 8, TierWrite::write_through)});
  options.prefetch = true;
  LowerTiers below(options, kBlock, 8);
  for (BlockId i = 1; i <= 3; ++i) enter(below, i, 10 + i);
  below.advance(SimTime(10));  // all to the store
  evict(below, 2);
  evict(below, 3);
  below.expect(std::vector<std::uint64_t>{11, 12, 99, 13});
  CHECK(links.loaded[Tier::remote] == 0);
  below.advance(SimTime(20));
  CHECK(links.loaded[Tier::remote] == 1);  // 12: the GPU has 11, and nobody 99
  const CacheLedger ledger = ledger_of(below);
  CHECK(ledger.tiers[0].used_blocks == 1);
  CHECK(ledger.tiers[1].prefetched_blocks == 1);
}

TEST_CASE("tiers: a copy out begins when the block has arrived itself") {
  CountingLinks links;
  LowerTiers below(tiers(links, {tier(Tier::host, 4, TierWrite::on_eviction)}), kBlock, 8);
  below.advance(SimTime(50));
  enter(below, 1, 11);
  below.arrives_at(1, SimTime(500));
  CHECK(evict(below, 1) == SimTime(510));
}

TEST_CASE("tiers: what falls further is read when it has arrived above") {
  CountingLinks links;
  LowerTiers below(
      tiers(links, {tier(Tier::host, 1, TierWrite::on_eviction), tier(Tier::nvme, 8, TierWrite::on_eviction)}), kBlock,
      8);
  enter(below, 1, 11);
  evict(below, 1);  // in the host at 10
  enter(below, 1, 12);
  evict(below, 1);  // 11 is in the store at 110, and would be in the host again at 210
  const Eviction::Entry wanted = block(kNoBlock, 11);
  CHECK(below.fetch({&wanted, 1}) == SimTime(220));
}

TEST_CASE("tiers: a prefetch reads a store's blocks when they have arrived there") {
  CountingLinks links;
  TiersOptions options =
      tiers(links, {tier(Tier::host, 8, TierWrite::write_back), tier(Tier::nvme, 8, TierWrite::write_through)});
  options.prefetch = true;
  LowerTiers below(options, kBlock, 8);
  enter(below, 1, 11);
  below.advance(SimTime(10));  // in the store at 10 + 10 + 100
  evict(below, 1);
  below.expect(std::vector<std::uint64_t>{11});
  below.advance(SimTime(30));  // in the host at 220
  below.advance(SimTime(50));
  const Eviction::Entry wanted = block(kNoBlock, 11);
  CHECK(below.fetch({&wanted, 1}) == SimTime(230));
}

TEST_CASE("tiers: what was fetched is not written through, for it was not computed") {
  CountingLinks links;
  LowerTiers below(
      tiers(links, {tier(Tier::host, 4, TierWrite::write_back), tier(Tier::nvme, 1, TierWrite::write_through)}), kBlock,
      8);
  const BlockId first = 1;
  enter(below, first, 11);
  below.let_go({&first, 1});
  below.advance(SimTime(10));  // 11 to both
  enter(below, 2, 12);
  below.advance(SimTime(20));  // 12 to the store, where 11 goes for it
  evict(below, first);
  const Eviction::Entry wanted = block(kNoBlock, 11);
  const SimTime there = below.fetch({&wanted, 1});
  enter(below, first, 11);
  below.arrives_at(first, there);
  CHECK(links.stored[Tier::nvme] == 2);
  below.advance(SimTime(100));
  CHECK(links.stored[Tier::nvme] == 2);
}

TEST_CASE("tiers: what a full tier gives up for one block is not written again with the next, unpaid") {
  CountingLinks links;
  LowerTiers below(tiers(links, {tier(Tier::host, 2, TierWrite::write_through)}), kBlock, 8);
  enter(below, 2, 12);
  below.advance(SimTime(10));
  enter(below, 3, 13);
  below.advance(SimTime(20));  // full: 12 and 13
  evict(below, 2);
  enter(below, 1, 11);
  enter(below, 2, 12);
  below.advance(SimTime(30));  // 11 alone is lacking, and 12 goes for it
  CHECK(links.out == 3);
  CHECK(found(below, {12}) == 0);
  CHECK(found(below, {13, 11}) == 2);
  const CacheLedger ledger = ledger_of(below);
  CHECK(ledger.tiers[0].written_blocks - ledger.tiers[0].evicted_blocks == ledger.tiers[0].used_blocks);
}

TEST_CASE("tiers: a block fetched from the host does not come from the store as well when the host gives it up") {
  CountingLinks links;
  LowerTiers below(
      tiers(links, {tier(Tier::host, 1, TierWrite::on_eviction), tier(Tier::nvme, 8, TierWrite::write_through)}),
      kBlock, 8);
  enter(below, 1, 11);
  enter(below, 2, 12);
  below.advance(SimTime(10));  // both to the store
  evict(below, 1);
  evict(below, 2);  // 12 in the host, where 11 went for it
  below.advance(SimTime(1000));
  const std::vector<Eviction::Entry> wanted{block(kNoBlock, 11), block(kNoBlock, 12)};
  below.fetch(wanted);
  CHECK(links.loaded[Tier::nvme] == 1);
  CHECK(ledger_of(below).tiers[0].evicted_blocks == 2);  // 11 before, and now 12 for 11
  below.fetch({wanted.data(), 1});
  CHECK(links.loaded[Tier::nvme] == 1);
}

// Request i says tokens that nobody else says.
class OwnWords final : public ContentSource {
 public:
  void content_of(RequestId request, Content& out) override {
    append_run(out, {static_cast<std::int64_t>(1000 * (1 + index_of(request))), 100});
  }
};

SequenceNeed need_of(Tokens total) {
  SequenceNeed need;
  need.prompt = need.true_end = need.declared_end = total;
  return need;
}
Grant look_and_admit(PagedCached& memory, SequenceId id, RequestId request, Tokens total) {
  memory.find_prefix(id, request, total);
  return memory.admit(id, need_of(total), total);
}

TEST_CASE("tiers: what is given up for its age is copied before it is overwritten, too") {
  CountingLinks links;
  OwnWords words;
  PagedCached memory(Blocks(9), kBlock, true, &words);
  CacheEviction eviction;
  eviction.policy = find_eviction("ttl");
  eviction.options.ttl = SimTime(100);
  memory.set_eviction(eviction);
  memory.set_tiers(tiers(links, {tier(Tier::host, 8, TierWrite::on_eviction)}));
  memory.advance(SimTime(0));
  REQUIRE(look_and_admit(memory, SequenceId{0}, RequestId{0}, kBlock * 3) == Grant::granted);
  memory.release(SequenceId{0});
  memory.advance(SimTime(99));
  CHECK(memory.take_work().until == SimTime(0));
  memory.advance(SimTime(100));
  CHECK(links.out == 3);
  CHECK(memory.take_work().until == SimTime(130));
}

TEST_CASE("tiers: who was refused is looked at again as time goes only where a tier has blocks of it") {
  CountingLinks links;
  OwnWords words;
  PagedCached memory(Blocks(5), kBlock, true, &words);
  CacheEviction eviction;
  eviction.policy = find_eviction("lru");
  memory.set_eviction(eviction);
  memory.set_tiers(tiers(links, {tier(Tier::host, 8, TierWrite::on_eviction)}));
  const SequenceId holds{0};
  const SequenceId waits{1};
  REQUIRE(look_and_admit(memory, waits, RequestId{1}, kBlock * 3) == Grant::granted);
  memory.release(waits);
  REQUIRE(look_and_admit(memory, holds, RequestId{0}, kBlock * 4) == Grant::granted);
  CHECK(links.out == 3);
  CHECK(look_and_admit(memory, waits, RequestId{1}, kBlock * 3) == Grant::no_space);
  CHECK(memory.admission_changed(waits));
  const SequenceId unknown{2};
  CHECK(look_and_admit(memory, unknown, RequestId{2}, kBlock * 3) == Grant::no_space);
  CHECK_FALSE(memory.admission_changed(unknown));
}

TEST_CASE("tiers: on random calls nothing exceeds its size, and the ledger is what went over the links") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    RandomStream random(seed, "tiers");
    const auto write = [&] { return static_cast<TierWrite>(random.integer(0, 2)); };
    CountingLinks links;
    TiersOptions options =
        tiers(links, {tier(Tier::host, random.integer(0, 6), write()), tier(Tier::nvme, random.integer(1, 6), write()),
                      tier(Tier::remote, random.integer(1, 12), write())});
    options.always_load = random.integer(0, 1) == 0;
    LowerTiers below(options, kBlock, 8);
    std::map<BlockId, std::uint64_t> gpu;
    SimTime now;
    std::int64_t fetched = 0;
    for (int i = 0; i < 400; ++i) {
      now += SimTime(random.integer(1, 200));
      below.advance(now);
      const auto slot = static_cast<BlockId>(random.integer(1, 7));
      const auto key = static_cast<std::uint64_t>(random.integer(0, 30));
      const bool known = std::ranges::any_of(gpu, [&](const auto& held) { return held.second == key; });
      if (gpu.contains(slot)) {
        if (random.integer(0, 1) == 0) below.let_go({&slot, 1});
        CHECK(evict(below, slot) >= now);
        gpu.erase(slot);
      } else if (!known) {
        enter(below, slot, key);
        gpu[slot] = key;
      }
      const std::vector<std::uint64_t> keys{static_cast<std::uint64_t>(random.integer(0, 30))};
      if (below.find(keys, 0).worth_fetching == 1) {
        const Eviction::Entry wanted = block(kNoBlock, keys[0]);
        CHECK(below.fetch({&wanted, 1}) >= now + SimTime(10));
        ++fetched;
      }
      for (const TierLedger& level : ledger_of(below).tiers) REQUIRE(level.used_blocks <= level.capacity_blocks);
    }
    const CacheLedger ledger = ledger_of(below);
    std::int64_t hits = 0;
    for (const TierLedger& level : ledger.tiers) hits += level.hit_tokens;
    CHECK(hits == 16 * fetched);
    CHECK(links.in == fetched);
    CHECK(ledger.tiers[1].written_blocks == links.stored[Tier::nvme]);
    CHECK(ledger.tiers[2].written_blocks == links.stored[Tier::remote]);
    CHECK(ledger.tiers[1].read_blocks == links.loaded[Tier::nvme]);
    CHECK(ledger.tiers[2].read_blocks == links.loaded[Tier::remote]);
  }
}

}  // namespace
}  // namespace blockyard::kv
