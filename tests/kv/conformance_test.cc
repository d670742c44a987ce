// The conformance suite: every strategy of the table, under every choice that it knows, does on random operations what
// its plain reference does (reference.h), and obeys the allocators' laws. A strategy is tried by being in the table.
#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/kv/allocator/paged_cached.h"
#include "sim/kv/allocator/strategies.h"
#include "tests/kv/reference.h"

using namespace blockyard;
using namespace blockyard::kv;
using kv_tests::NaiveMemory;

namespace {

constexpr Tokens kMaxModelLen(64);

template <class T>
T one_of(const std::vector<T>& values) {
  return *rc::gen::elementOf(values);
}

// Turns named blocks on; no request has anything in common with another.
class NothingShared final : public ContentSource {
 public:
  void content_of(RequestId /*request*/, Content& /*out*/) override {}
};

struct Choice {
  std::string strategy;
  std::string reservation;
  std::string placement;
  MemoryOptions options;
  std::vector<PageGeometry::Tensors> tensors;
  Bytes page;

  [[nodiscard]] std::unique_ptr<Allocator> allocator() const {
    MemoryOptions o = options;
    o.reservation = reservation;
    o.placement = placement;
    return make_allocator(strategy, o);
  }
  [[nodiscard]] std::unique_ptr<NaiveMemory> reference() const {
    MemoryOptions o = options;
    o.reservation = reservation;
    o.placement = placement;
    return kv_tests::make_reference(strategy, o, tensors, page);
  }
};

// Small enough to be short of memory most of the time.
Choice random_choice(const std::string& strategy, const std::string& reservation) {
  Choice c;
  c.strategy = strategy;
  c.reservation = reservation;
  c.placement = one_of(placements()).name;
  c.options.block_size = Tokens(one_of<std::int64_t>({1, 2, 7, 16}));
  c.options.capacity = c.options.block_size * (*rc::gen::inRange<std::int64_t>(40, 200) / c.options.block_size.count());
  c.options.max_model_len = kMaxModelLen;
  c.options.initial_tokens = Tokens(one_of<std::int64_t>({0, 1, 5}));
  c.options.compaction.on_failure = *rc::gen::arbitrary<bool>();
  c.options.compaction.threshold = one_of<double>({0, 0.3, 1});
  c.page = Bytes(one_of<std::int64_t>({16, 64, 100}));
  c.tensors = one_of<std::vector<PageGeometry::Tensors>>({{{16, 1}}, {{20, 4}}, {{12, 2}, {40, 1}}, {{150, 1}}});
  c.options.pages = *rc::gen::inRange<std::int64_t>(0, 150);
  c.options.page_geometry = PageGeometry(c.page, c.tensors);
  c.options.keep_pages = *rc::gen::arbitrary<bool>();
  static NothingShared nothing_shared;
  const int kind = *rc::gen::inRange(0, 4);
  if (kind == 1 || kind == 3) c.options.contents = &nothing_shared;
  if (kind == 3) {  // named blocks: alike in tokens
    const Tokens b = c.options.block_size;
    c.options.tables =
        one_of<std::vector<BlockTables>>({{{Tokens(5), 1, b, 1}},
                                          {{Tokens(0), 1, b, 3}, {Tokens(16), 2, b, 4}},
                                          {{Tokens(1), 1, b, 2}, {Tokens(0), 1, b, 3}, {Tokens(23), 1, b, 1}},
                                          {{Tokens(0), 2, b, 6}, {Tokens(7), 3, b, 9}, {Tokens(7), 1, b, 2}}});
    c.options.block_pieces = 3 * b.count();
    c.options.longest_chunk = kMaxModelLen;
  }
  if (kind == 2) {
    // Windows alone, with full attention, shorter than a block; pages of unlike layers; recurrent state.
    const Tokens b = c.options.block_size;
    c.options.tables =
        one_of<std::vector<BlockTables>>({{{Tokens(5), 1, b, 1}},
                                          {{Tokens(0), 1, b, 3}, {Tokens(16), 2, b, 5}},
                                          {{Tokens(1), 1, b, 2}, {Tokens(0), 1, b, 3}, {Tokens(23), 1, b, 1}},
                                          {{Tokens(0), 1, b + b, 1}, {Tokens(7), 3, b, 8}},
                                          {{Tokens(0), 1, b, 3}, {Tokens(0), 2, Tokens(0), 5}},
                                          {{Tokens(9), 1, b, 3}, {Tokens(0), 1, Tokens(0), 3}}});
    c.options.block_pieces = 3 * b.count();
    c.options.longest_chunk = kMaxModelLen;
  }
  return c;
}

// An allocator, the same once more, and the reference.
class Trial {
 public:
  explicit Trial(const Choice& choice)
      : memory_(choice.allocator()), twin_(choice.allocator()), plain_(choice.reference()) {
    RC_ASSERT(plain_ != nullptr);
    laws_hold();
  }

  void take(int action, std::uint32_t n, int amount) {
    const auto id = static_cast<SequenceId>(n);
    auto& held = plain_->held();
    const auto found = held.find(n);
    const bool here = found != held.end();
    if (action <= 1 && !here) {
      admit(n, amount);
    } else if (action == 2 && here && !found->second.decoding) {
      grow(n, std::min(found->second.need.true_end, found->second.written + Tokens(amount % 9)));
    } else if (action == 3 && here && !found->second.decoding) {
      found->second.cohort = take_turn(amount);
      for (Allocator* m : both()) m->start_decoding(id);
      found->second.decoding = true;
    } else if (action == 4 && here && found->second.decoding) {
      for (Allocator* m : both()) m->stop_decoding(id);
      found->second.decoding = false;
    } else if (action == 5 || action == 6) {
      decode(amount);
    } else if (action == 7 && here) {
      for (Allocator* m : both()) m->release(id);
      plain_->release(n);
      if (amount % 2 == 0) {  // else it was preempted, and will come back
        for (Allocator* m : both()) m->forget(id);
        plain_->forget(n);
      }
    } else if (action == 8) {
      for (Allocator* m : both()) m->clear_refusal();
      plain_->clear_refusal();
    }
    laws_hold();
  }

  void end() {
    while (!plain_->held().empty()) {
      const std::uint32_t n = plain_->held().begin()->first;
      for (Allocator* m : both()) m->release(static_cast<SequenceId>(n));
      plain_->release(n);
      laws_hold();
    }
    RC_ASSERT(memory_->available() == memory_->total_grains());
    RC_ASSERT(memory_->total_written() == Tokens(0));
    const MemoryPartition p = memory_->partition();
    RC_ASSERT(p[MemoryState::free] + p[MemoryState::cached] == memory_->total_pieces());
  }

 private:
  [[nodiscard]] std::vector<Allocator*> both() const { return {memory_.get(), twin_.get()}; }

  CohortId take_turn(int amount) {
    const auto cohort = static_cast<CohortId>(memory_->decodes_by_turns() ? amount % 7 % 3 : 0);
    for (Allocator* m : both()) m->turn(cohort);
    return cohort;
  }

  // The answer is the reference's, the demand told before is what is taken, and a refusal takes nothing.
  void answered(Grant grant, Grant again, bool expected, std::int64_t available, std::int64_t demand) {
    RC_ASSERT(grant == (expected ? Grant::granted : Grant::no_space));
    RC_ASSERT(again == grant);
    if (!expected) RC_ASSERT(memory_->available() == available);
    if (memory_->order_decides()) return;  // regions move, and leave room behind
    if (expected) RC_ASSERT(demand <= available);
    RC_ASSERT(memory_->available() == available - (expected ? demand : 0));
  }

  void admit(std::uint32_t n, int amount) {
    const auto id = static_cast<SequenceId>(n);
    const Tokens prompt(1 + amount % 30);
    const Tokens end = prompt + Tokens(amount % 20);
    const SequenceNeed need{prompt, end, end + Tokens(amount % 7)};
    if (!memory_->why_never(need).empty()) return;
    const Tokens first = amount % 3 == 0 ? Tokens((prompt.count() + 1) / 2) : prompt;
    const std::int64_t available = memory_->available();
    const std::int64_t demand = memory_->admission_demand(id, need, first);
    const Grant grant = memory_->admit(id, need, first);
    answered(grant, twin_->admit(id, need, first), plain_->admit(n, need, first), available, demand);
  }

  void grow(std::uint32_t n, Tokens total) {
    const auto id = static_cast<SequenceId>(n);
    const std::int64_t available = memory_->available();
    const std::int64_t demand = memory_->demand(id, total);
    const Grant grant = memory_->grow(id, total);
    answered(grant, twin_->grow(id, total), plain_->grow(n, total), available, demand);
  }

  void decode(int amount) {
    const CohortId cohort = take_turn(amount);
    std::vector<std::pair<std::uint64_t, Growth>> others;
    std::map<std::uint32_t, Tokens> growths;
    for (const auto& [n, s] : plain_->held()) {
      if (s.decoding && s.cohort == cohort && s.written >= s.need.true_end) return;
      if (s.decoding || (amount + static_cast<int>(n)) % 3 != 0) continue;
      const Tokens total = std::min(s.need.true_end, s.written + Tokens(amount % 5));
      others.push_back({s.order, {static_cast<SequenceId>(n), total}});
      growths[n] = total;
    }
    std::ranges::sort(others, {}, [](const auto& other) { return other.first; });
    std::vector<Growth> list;
    std::int64_t demand = memory_->decode_demand();
    for (const auto& [order, growth] : others) {
      list.push_back(growth);
      demand += memory_->demand(growth.id, growth.total);
    }
    const std::int64_t available = memory_->available();
    const Grant grant = memory_->grow_decoding(list);
    answered(grant, twin_->grow_decoding(list), plain_->grow_decoding(cohort, growths), available, demand);
  }

  void laws_hold() {
    const MemoryPartition p = memory_->partition();
    RC_ASSERT(p.total() == memory_->total_pieces());
    for (const std::int64_t pieces : p.slots) RC_ASSERT(pieces >= 0);
    RC_ASSERT(p.slots == plain_->partition().slots);
    RC_ASSERT(p.slots == twin_->partition().slots);
    RC_ASSERT(memory_->largest_free().count() == plain_->largest_free());
    for (const auto& [n, s] : plain_->held()) RC_ASSERT(memory_->written(static_cast<SequenceId>(n)) == s.written);
    const MemoryWork work = memory_->take_work();
    const MemoryWork same = twin_->take_work();
    RC_ASSERT(same.copied == work.copied && same.pages_mapped == work.pages_mapped);
    RC_ASSERT(same.compactions == work.compactions && same.pages_unmapped == work.pages_unmapped);
    nothing_overlaps();
    sum_.copied += work.copied;
    sum_.compactions += work.compactions;
    sum_.pages_mapped += work.pages_mapped;
    sum_.pages_unmapped += work.pages_unmapped;
    RC_ASSERT(sum_.copied == plain_->work().copied);
    RC_ASSERT(sum_.compactions == plain_->work().compactions);
    RC_ASSERT(sum_.pages_mapped == plain_->work().pages_mapped);
    RC_ASSERT(sum_.pages_unmapped == plain_->work().pages_unmapped);
  }

  // Where it matters which place a sequence has: it is the twin's, and nobody else's.
  void nothing_overlaps() const {
    std::set<std::int64_t> taken;
    const auto* regions = dynamic_cast<const Contiguous*>(memory_.get());
    const auto* blocks = dynamic_cast<const PagedCached*>(memory_.get());
    for (const auto& [n, s] : plain_->held()) {
      const auto id = static_cast<SequenceId>(n);
      if (regions != nullptr) {
        const Region region = regions->region_of(id);
        RC_ASSERT(region == dynamic_cast<const Contiguous&>(*twin_).region_of(id));
        RC_ASSERT(region.start >= 0 && region.end() <= memory_->capacity().count());
        for (std::int64_t slot = region.start; slot < region.end(); ++slot) RC_ASSERT(taken.insert(slot).second);
      }
      if (blocks != nullptr) {
        RC_ASSERT(blocks->block_table(id) == dynamic_cast<const PagedCached&>(*twin_).block_table(id));
        for (const BlockId block : blocks->block_table(id)) RC_ASSERT(taken.insert(block).second);
      }
    }
  }

  std::unique_ptr<Allocator> memory_;
  std::unique_ptr<Allocator> twin_;
  std::unique_ptr<NaiveMemory> plain_;
  MemoryWork sum_;
};

}  // namespace

TEST_CASE("every allocator does what its plain reference does, and loses nothing") {
  for (const NameDoc& strategy : strategies()) {
    const bool regions = traits_of_strategy(strategy.name).regions;
    for (const NameDoc& reservation : reservations()) {
      CHECK(rc::check(strategy.name + " " + reservation.name, [&] {
        Trial trial(random_choice(strategy.name, reservation.name));
        const auto operations = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
            rc::gen::tuple(rc::gen::inRange(0, 9), rc::gen::inRange(0, 9), rc::gen::inRange(0, 1000)));
        for (const auto& [action, which, amount] : operations) {
          trial.take(action, static_cast<std::uint32_t>(which), amount);
        }
        trial.end();
      }));
      if (!regions) break;  // the others know no reservation
    }
  }
}
