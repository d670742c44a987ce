// Laws of the schedulers on random workloads, and: the path on sums takes the decisions of the walk, step by step.
#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "tests/sched/random_engine.h"
#include "tests/sched/same_step.h"

using namespace blockyard;
using namespace blockyard::sched;
using namespace blockyard::sched_tests;

namespace {

std::vector<std::int64_t> all_gaps(const StepOutcome& outcome, SimTime duration) {
  std::vector<std::int64_t> gaps(static_cast<std::size_t>(outcome.shared_gap), duration.count());
  for (const SimTime gap : outcome.gaps) gaps.push_back(gap.count());
  std::sort(gaps.begin(), gaps.end());
  return gaps;
}

constexpr SimTime kStep(10);
constexpr std::int64_t kMaxSteps = 6000;

}  // namespace

TEST_CASE("the path on sums takes the decisions of the walk") {
  REQUIRE(rc::check([] {
    const Scenario scenario = random_scenario();
    Engine fast(scenario, true);
    Engine walk(scenario, false);
    std::size_t next = 0;
    std::map<std::int64_t, std::int64_t> generated;
    std::int64_t arrived = 0;
    std::int64_t finished = 0;
    bool swapped = false;
    bool tails = false;
    for (std::int64_t step = 0; step < kMaxSteps && (finished < arrived || next < scenario.requests.size()); ++step) {
      for (; next < scenario.requests.size() && scenario.requests[next].first <= step; ++next) {
        const workload::Request& r = scenario.requests[next].second;
        const kv::SequenceNeed need = need_of(r, scenario.max_model_len);
        if (!walk.memory->why_never(need).empty()) continue;
        if (walk.memory->admission_demand(SequenceId::none, need, need.true_end) + walk.watermark >
            walk.memory->total_grains())
          continue;
        fast.scheduler->arrive(static_cast<RequestId>(next), r);
        walk.scheduler->arrive(static_cast<RequestId>(next), r);
        ++arrived;
      }
      const SimTime now = kStep * step;
      Batch plain;
      const bool is_plain = fast.scheduler->plain_step(plain);
      const bool idle = walk.scheduler->running() == 0;
      const Batch& a = is_plain ? plain : fast.scheduler->schedule(now);
      const Batch& b = walk.scheduler->schedule(now);
      same_batch(a, b);
      if (walk.scheduler->waiting() > 0) {
        RC_ASSERT(a.head == b.head);
        RC_ASSERT(a.head_waits_for == b.head_waits_for);
        RC_CLASSIFY(b.head_waits_for == QueueCause::seat, "waits for a seat");
        RC_CLASSIFY(b.head_waits_for == QueueCause::token_budget, "waits for the budget");
        RC_CLASSIFY(b.head_waits_for == QueueCause::kv_memory, "waits for memory");
      }
      // Nobody joins a batch that runs.
      if (scenario.scheduler == "static")
        RC_ASSERT(idle || (b.admitted.empty() && b.resumed.empty() && b.swapped_in.empty()));
      RC_ASSERT(a.held_until == b.held_until);
      for (const auto member : {&Batch::swapped_out, &Batch::swapped_in}) {
        RC_ASSERT((a.*member).size() == (b.*member).size());
        for (std::size_t i = 0; i < (a.*member).size(); ++i) {
          RC_ASSERT((a.*member)[i].request == (b.*member)[i].request);
          RC_ASSERT((a.*member)[i].blocks == (b.*member)[i].blocks);
          RC_ASSERT((a.*member)[i].cause == (b.*member)[i].cause);
          RC_ASSERT((a.*member)[i].beneficiary == (b.*member)[i].beneficiary);
        }
      }
      swapped = swapped || !a.swapped_in.empty();
      for (const Swap& swap : a.swapped_out) tails = tails || swap.cause != SwapCause::victim;
      RC_ASSERT(fast.scheduler->host_used() == walk.scheduler->host_used());
      RC_ASSERT(walk.scheduler->host_used() <= scenario.host_blocks);
      RC_ASSERT(fast.scheduler->swapped() == walk.scheduler->swapped());
      RC_ASSERT(fast.memory->partition().slots == walk.memory->partition().slots);
      RC_ASSERT(fast.scheduler->running() == walk.scheduler->running());
      RC_ASSERT(fast.scheduler->waiting() == walk.scheduler->waiting());
      RC_ASSERT(walk.scheduler->running() <= scenario.max_num_seqs);
      std::int64_t fresh = a.decodes;
      for (const Chunk& chunk : a.chunks) fresh += chunk.fresh.count();
      if (scenario.scheduler == "vllm-v1" || scenario.scheduler == "sarathi")
        RC_ASSERT(fresh <= scenario.budget.count());

      const SimTime end = now + kStep;
      const StepOutcome& y = walk.scheduler->complete(end);
      if (is_plain) {
        RC_ASSERT(y.tokens == plain.decodes);
        RC_ASSERT(y.computed == plain.decodes);
        RC_ASSERT(y.finished.empty());
        RC_ASSERT(all_gaps(y, kStep) ==
                  std::vector<std::int64_t>(static_cast<std::size_t>(plain.decodes), kStep.count()));
      } else {
        const StepOutcome& x = fast.scheduler->complete(end);
        same_outcome(x, y);
        RC_ASSERT(all_gaps(x, kStep) == all_gaps(y, kStep));
      }
      for (const Finish& f : y.finished) {
        const workload::Request& r = scenario.requests[index_of(f.request)].second;
        RC_ASSERT(f.generated == need_of(r, scenario.max_model_len).true_end - r.prompt_tokens + Tokens(1));
      }
      finished += static_cast<std::int64_t>(y.finished.size());
      RC_ASSERT(arrived == finished + walk.scheduler->running() + walk.scheduler->waiting());
    }
    // Equal (priority, arrival) can preempt in a circle, as in the engine; every other run ends.
    // So can regions that grow, where a policy takes the place of one that grows for another.
    const bool in_place = scenario.victim == "engine" || !walk.memory->order_decides();
    if ((scenario.queue_order != "priority" || scenario.victim != "engine") && in_place) RC_ASSERT(finished == arrived);
    RC_TAG(scenario.scheduler + " " + scenario.strategy + " " + scenario.queue_order);
    if (finished == arrived) {
      RC_ASSERT(walk.scheduler->swapped() == 0);
      RC_ASSERT(walk.memory->available() == walk.memory->total_grains());
    }
    RC_CLASSIFY(swapped, "swaps");
    RC_CLASSIFY(tails, "swaps tails");
    RC_CLASSIFY(swapped && scenario.overlap, "overlaps");
    RC_TAG(scenario.victim + " " + scenario.mode);
  }));
}

TEST_CASE("two requests of 800 + 400 in 100 blocks of 16: one preemption, none with a watermark of one block") {
  const auto preemptions = [](std::int64_t blocks, std::int64_t watermark) {
    Scenario s;
    s.scheduler = "vllm-v1";
    s.strategy = "paged";
    s.placement = "buddy";
    s.queue_order = "fcfs";
    s.block_size = Tokens(16);
    s.capacity = Tokens(16) * blocks;
    s.max_model_len = Tokens(2048);
    s.max_num_seqs = 256;
    s.budget = Tokens(2048);
    s.watermark = watermark;
    Engine engine(s, true);
    workload::Request r;
    r.prompt_tokens = Tokens(800);
    r.output_tokens = r.max_tokens = Tokens(400);
    engine.scheduler->arrive(RequestId{0}, r);
    engine.scheduler->arrive(RequestId{1}, r);
    std::size_t preempted = 0;
    std::size_t finished = 0;
    for (std::int64_t step = 0; finished < 2; ++step) {
      REQUIRE(step < 2000);
      preempted += engine.scheduler->schedule(kStep * step).preempted.size();
      finished += engine.scheduler->complete(kStep * (step + 1)).finished.size();
    }
    return preempted;
  };
  // 50 + 50 blocks hold the prompts; the 801st token of each needs a 51st.
  CHECK(preemptions(100, 0) == 1);
  CHECK(preemptions(100, 1) == 0);
  // The second prompt does not fit into 99, so that it waits.
  CHECK(preemptions(99, 0) == 0);
}

TEST_CASE("generation stops at max_tokens, at max_model_len, and yields at least one token") {
  const auto end_of = [](std::int64_t prompt, std::int64_t output, std::int64_t max_tokens) {
    workload::Request r;
    r.prompt_tokens = Tokens(prompt);
    r.output_tokens = Tokens(output);
    r.max_tokens = Tokens(max_tokens);
    return need_of(r, Tokens(100)).true_end.count();
  };
  CHECK(end_of(10, 5, 5) == 14);
  CHECK(end_of(10, 50, 5) == 14);
  CHECK(end_of(10, 500, 500) == 99);
  CHECK(end_of(99, 5, 5) == 99);
  CHECK(end_of(10, 0, 0) == 10);
}
