// Who goes: every victim policy by its own words, on four running requests; and the laws that all of them keep.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "sim/kv/allocator/strategies.h"
#include "sim/sched/vllm_v1.h"

using namespace blockyard;
using namespace blockyard::sched;

namespace {

// A sequence of n tokens is back after |n - 40| ns: the one of 40 tokens first.
class AroundForty final : public RestoreCost {
 public:
  SimTime recompute(Tokens tokens, const DecodeLoad& /*load*/) override {
    return SimTime(tokens.count() < 40 ? 40 - tokens.count() : tokens.count() - 40);
  }
  SimTime swap(SimTime /*now*/, const Copy& /*copy*/) const override { return kNever; }
};

struct Spec {
  std::int64_t arrival, prompt, output;
  std::int32_t priority;
};

// The first victims among requests that fill a pool of one-token blocks exactly, and all decode in the next step.
std::vector<std::int64_t> victims_of(const std::string& victim, const std::vector<Spec>& specs, bool fast_forward) {
  std::int64_t slots = 0;
  for (const Spec& s : specs) slots += s.prompt;
  const auto memory = kv::make_allocator("paged", {Tokens(slots), Tokens(1), Tokens(1000), "", ""});
  AroundForty cost;
  RunningFirstOptions options;
  options.victim = victim;
  options.fast_forward = fast_forward;
  const auto scheduler = make_vllm_v1(options, *memory, {&cost, nullptr});
  std::uint32_t id = 0;
  for (const Spec& s : specs) {
    workload::Request r;
    r.arrival = SimTime(s.arrival);
    r.prompt_tokens = Tokens(s.prompt);
    r.output_tokens = r.max_tokens = Tokens(s.output);
    r.priority = s.priority;
    scheduler->arrive(RequestId{id++}, r);
  }
  REQUIRE(scheduler->schedule(SimTime(0)).admitted.size() == specs.size());
  (void)scheduler->complete(SimTime(10));
  std::vector<std::int64_t> gone;
  for (const Preempted& preempted : scheduler->schedule(SimTime(10)).preempted) {
    gone.push_back(static_cast<std::int64_t>(preempted.request));
  }
  return gone;
}

}  // namespace

TEST_CASE("each policy chooses by its own words") {
  // In the order of admission; request 1 arrived last, and a trace may say so.
  const std::vector<Spec> specs{{3, 50, 5, 1}, {9, 20, 30, 0}, {5, 80, 9, 0}, {7, 41, 8, 2}};
  const auto first = [&](const std::string& victim) {
    const std::vector<std::int64_t> gone = victims_of(victim, specs, true);
    REQUIRE(gone == victims_of(victim, specs, false));
    REQUIRE(gone.size() == 1);  // the smallest frees 20 slots, and the others need three
    return gone.front();
  };
  CHECK(first("engine") == 3);
  CHECK(first("latest") == 1);
  CHECK(first("lowest_priority") == 3);
  CHECK(first("largest") == 2);
  CHECK(first("smallest") == 1);
  CHECK(first("least_computed") == 1);
  CHECK(first("most_remaining") == 1);
  CHECK(first("cheapest_to_restore") == 3);
}

TEST_CASE("of equals the last of the running list goes") {
  const std::vector<Spec> equal(4, Spec{0, 10, 5, 0});
  for (const NameDoc& victim : victims()) {
    INFO(victim.name);
    CHECK(victims_of(victim.name, equal, true) == std::vector<std::int64_t>{3});
  }
}

TEST_CASE("as many go as it takes, and no more") {
  // Ten requests of one token each: all ten ask for one slot more and none is free. One goes and frees one slot, nine
  // ask; two, eight; ...; after five, five slots are free for five.
  const std::vector<Spec> specs(10, Spec{0, 1, 5, 0});
  for (const NameDoc& victim : victims()) {
    INFO(victim.name);
    CHECK(victims_of(victim.name, specs, true) == std::vector<std::int64_t>{9, 8, 7, 6, 5});
    CHECK(victims_of(victim.name, specs, false) == std::vector<std::int64_t>{9, 8, 7, 6, 5});
  }
}
