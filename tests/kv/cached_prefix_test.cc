// What waiting sequences would find on the GPU, known without looking them all up again.
#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "sim/kv/allocator/paged_cached.h"
#include "sim/kv/allocator/paged_groups.h"
#include "sim/kv/allocator/separate.h"

namespace blockyard::kv {
namespace {

constexpr std::int64_t kRequests = 12;

// A binary tree of texts: requests share what the bits of their number say, and part at tokens within blocks.
class Texts final : public ContentSource {
 public:
  void content_of(RequestId request, Content& out) override {
    const auto id = static_cast<std::int64_t>(index_of(request));
    append_run(out, {1000, 5});
    append_run(out, {2000 + 100 * (id % 2), 6});
    append_run(out, {3000 + 100 * (id % 4), 7});
    append_run(out, {4000 + 100 * id, 8});
  }
};
constexpr Tokens kLength{26};

SequenceNeed need_of_whole() {
  SequenceNeed need;
  need.prompt = need.true_end = need.declared_end = kLength;
  return need;
}

void check_against_lookups(Allocator& memory) {
  enum class State { unknown, waiting, admitted };
  std::vector<State> states(kRequests, State::unknown);
  std::vector<Tokens> written(kRequests);
  std::vector<Tokens> known(kRequests);
  std::uint64_t seen = 0;
  for (int deed = *rc::gen::inRange(1, 120); deed > 0; --deed) {
    const auto i = *rc::gen::inRange<std::size_t>(0, kRequests);
    const auto id = static_cast<SequenceId>(i);
    const auto request = static_cast<RequestId>(i);
    switch (states[i]) {
      case State::unknown:
        states[i] = State::waiting;
        known[i] = memory.cached_prefix(id, request, kLength);
        break;
      case State::waiting:
        if (*rc::gen::inRange(0, 8) == 0) {
          memory.forget(id);
          states[i] = State::unknown;
          break;
        }
        {
          const Tokens hit = memory.find_prefix(id, request, kLength);
          const Tokens first = hit + Tokens(*rc::gen::inRange<std::int64_t>(1, (kLength - hit).count() + 1));
          if (memory.admit(id, need_of_whole(), first) != Grant::granted) break;
          states[i] = State::admitted;
          written[i] = first;
        }
        break;
      case State::admitted:
        if (written[i] < kLength && *rc::gen::arbitrary<bool>()) {
          const Tokens to = written[i] + Tokens(*rc::gen::inRange<std::int64_t>(1, (kLength - written[i]).count() + 1));
          if (memory.grow(id, to) == Grant::granted) written[i] = to;
          break;
        }
        memory.release(id);
        states[i] = State::waiting;  // as one that was preempted
        known[i] = memory.cached_prefix(id, request, kLength);
        break;
    }
    const bool may_differ = memory.prefix_changes() != seen;
    seen = memory.prefix_changes();
    for (std::size_t k = 0; k < states.size(); ++k) {
      if (states[k] != State::waiting) continue;
      const auto at = static_cast<SequenceId>(k);
      const Tokens found = memory.find_prefix(at, static_cast<RequestId>(k), kLength);
      RC_ASSERT(may_differ || found == known[k]);
      known[k] = memory.cached_prefix(at, static_cast<RequestId>(k), kLength);
      RC_ASSERT(known[k] == found);
    }
  }
}

TEST_CASE("cached_prefix: what find_prefix finds, and where it changes prefix_changes rises") {
  for (const char* policy : {"", "lru", "random", "sieve"}) {
    INFO(policy);
    REQUIRE(rc::check([&] {
      Texts texts;
      PagedCached memory(Blocks(*rc::gen::inRange(8, 40)), Tokens(*rc::gen::element(1, 3, 4)), true, &texts);
      CacheEviction eviction;
      if (*policy != 0) eviction.policy = find_eviction(policy);
      memory.set_eviction(eviction);
      check_against_lookups(memory);
    }));
  }
}

TEST_CASE("cached_prefix: of several samples it is the first one's") {
  REQUIRE(rc::check([] {
    Texts texts;
    auto inner = std::make_unique<PagedCached>(Blocks(40), Tokens(4), true, &texts);
    inner->set_eviction({});
    Separate memory(std::move(inner), true);
    check_against_lookups(memory);
  }));
}

TEST_CASE("cached_prefix: of several block tables, what all of them have") {
  REQUIRE(rc::check([] {
    Texts texts;
    const Tokens block(*rc::gen::element(1, 3));
    std::vector<BlockTables> tables{{Tokens(*rc::gen::element(4, 9)), 2, block, 2}};
    if (*rc::gen::arbitrary<bool>()) tables.push_back({Tokens(0), 1, block, 1});
    PagedGroups memory(Blocks(*rc::gen::inRange(40, 120)), block.count(), tables, kLength, texts);
    check_against_lookups(memory);
  }));
}

TEST_CASE("cached_prefix: without a cache there is none") {
  PagedCached memory(Blocks(40), Tokens(4), false, nullptr);
  CHECK(memory.cached_prefix(SequenceId{0}, RequestId{0}, kLength) == Tokens(0));
  CHECK(memory.prefix_changes() == 0);
}

}  // namespace
}  // namespace blockyard::kv
