// Several batches under way: the cohorts take the decisions of the walk, batch by batch.
#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <vector>

#include "tests/sched/random_engine.h"
#include "tests/sched/same_step.h"

using namespace blockyard;
using namespace blockyard::sched;
using namespace blockyard::sched_tests;

namespace {

constexpr std::int64_t kMaxBatches = 20000;

// An engine core around a scheduler: plans while there is room and something to compute.
class Core {
 public:
  Core(const Scenario& scenario, bool fast_forward, std::int64_t batches)
      : engine_(scenario, fast_forward, batches), room_(static_cast<std::size_t>(batches)) {}

  [[nodiscard]] Scheduler& scheduler() { return *engine_.scheduler; }
  [[nodiscard]] kv::Allocator& memory() { return *engine_.memory; }
  [[nodiscard]] std::int64_t watermark() const { return engine_.watermark; }
  [[nodiscard]] bool has_room() const { return under_way_.size() < room_; }
  [[nodiscard]] bool nothing_under_way() const { return under_way_.empty(); }
  [[nodiscard]] SimTime next_end() const { return under_way_.front().end; }

  // Batches take 10 ns each, in turn, and 10 more for each place in the pipeline.
  const Batch& plan(SimTime now) {
    const Batch& batch = scheduler().schedule(now);
    scheduler().describe_plan(plan_);
    if (batch.empty() && !under_way_.empty()) return batch;
    last_end_ = std::max(last_end_ + kStep, now + static_cast<std::int64_t>(room_) * kStep);
    under_way_.push_back({now, last_end_});
    return batch;
  }
  [[nodiscard]] const std::vector<PlanEntry>& plan_told() const { return plan_; }

  const StepOutcome& end_oldest() {
    began_ = under_way_.front().start;
    const SimTime end = next_end();
    under_way_.pop_front();
    return scheduler().complete(end);
  }
  // Of the tokens of the batch just ended.
  [[nodiscard]] std::vector<std::int64_t> gaps(const StepOutcome& outcome, SimTime end) const {
    std::vector<std::int64_t> gaps(static_cast<std::size_t>(outcome.shared_gap), (end - began_).count());
    for (const SimTime gap : outcome.gaps) gaps.push_back(gap.count());
    std::ranges::sort(gaps);
    return gaps;
  }

 private:
  static constexpr SimTime kStep{10};
  struct UnderWay {
    SimTime start;
    SimTime end;
  };
  Engine engine_;
  std::size_t room_;
  std::deque<UnderWay> under_way_;
  SimTime last_end_;
  SimTime began_;
  std::vector<PlanEntry> plan_;
};

void same_plan(const Core& x, const Core& y) {
  const std::vector<PlanEntry>& a = x.plan_told();
  const std::vector<PlanEntry>& b = y.plan_told();
  RC_ASSERT(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    RC_ASSERT(a[i].request == b[i].request);
    RC_ASSERT(a[i].fresh == b[i].fresh);
    RC_ASSERT(a[i].kind == b[i].kind);
    RC_ASSERT(a[i].hit == b[i].hit);
  }
}

Scenario for_pipelines() {
  Scenario scenario = random_scenario();
  scenario.victim = "engine";
  scenario.mode = "recompute";
  scenario.tail_blocks = false;
  // Mostly room for everybody's token in one batch, so that cohorts form.
  if (*rc::gen::inRange(0, 4) > 0) scenario.budget += Tokens(4 * scenario.max_num_seqs);
  return scenario;
}

}  // namespace

TEST_CASE("in a pipeline, cohorts take the decisions of the walk") {
  REQUIRE(rc::check([] {
    const Scenario scenario = for_pipelines();
    const std::int64_t batches = *rc::gen::inRange(2, 6);
    Core fast(scenario, true, batches);
    Core walk(scenario, false, batches);
    std::size_t next = 0;
    std::int64_t arrived = 0;
    std::int64_t finished = 0;
    std::size_t cohort_while_preempting = 0;
    bool cohorts = false;
    SimTime now;
    for (std::int64_t planned = 0; planned < kMaxBatches; ++planned) {
      for (; next < scenario.requests.size() && 10 * SimTime(scenario.requests[next].first) <= now; ++next) {
        const workload::Request& r = scenario.requests[next].second;
        const kv::SequenceNeed need = need_of(r, scenario.max_model_len);
        if (!walk.memory().why_never(need).empty()) continue;
        if (walk.memory().admission_demand(SequenceId::none, need, need.true_end) + walk.watermark() >
            walk.memory().total_grains())
          continue;
        for (Core* core : {&fast, &walk}) core->scheduler().arrive(static_cast<RequestId>(next), r);
        ++arrived;
      }
      const bool anybody = walk.scheduler().running() + walk.scheduler().waiting() > 0;
      bool executes = false;
      if (anybody && walk.has_room()) {
        const Batch& a = fast.plan(now);
        const Batch& b = walk.plan(now);
        same_batch(a, b);
        same_plan(fast, walk);
        if (walk.scheduler().waiting() > 0) {
          RC_ASSERT(a.head == b.head);
          RC_ASSERT(a.head_waits_for == b.head_waits_for);
        }
        RC_ASSERT(!b.cohort);
        cohorts = cohorts || a.cohort;
        if (a.cohort) cohort_while_preempting += a.preempted.size();
        RC_ASSERT(fast.memory().partition().slots == walk.memory().partition().slots);
        RC_ASSERT(fast.scheduler().running() == walk.scheduler().running());
        executes = !b.empty();
      }
      RC_ASSERT(fast.nothing_under_way() == walk.nothing_under_way());
      if (executes && walk.has_room()) continue;
      if (walk.nothing_under_way()) {
        if (next == scenario.requests.size()) break;
        now = 10 * SimTime(scenario.requests[next].first);
        continue;
      }
      RC_ASSERT(fast.next_end() == walk.next_end());
      now = walk.next_end();
      const StepOutcome& x = fast.end_oldest();
      const StepOutcome& y = walk.end_oldest();
      same_outcome(x, y);
      RC_ASSERT(fast.gaps(x, now) == walk.gaps(y, now));
      finished += std::ssize(y.finished);
      RC_ASSERT(arrived == finished + fast.scheduler().running() + fast.scheduler().waiting());
    }
    if (scenario.queue_order != "priority") RC_ASSERT(finished == arrived);
    if (finished == arrived) RC_ASSERT(fast.memory().available() == fast.memory().total_grains());
    RC_CLASSIFY(cohorts, "forms cohorts");
    RC_CLASSIFY(cohort_while_preempting > 0, "preempts for a cohort");
    RC_TAG(scenario.scheduler + " " + scenario.strategy + " " + scenario.queue_order);
  }));
}

TEST_CASE("a victim's token that is under way with its cohort is kept") {
  // 14 blocks of one token, and prompts of 5 that fill a batch each. From then on both decode by turns, a block a
  // token; with 7 blocks each, the first one asks for its 8th while the second one's 7th is being written.
  Scenario s;
  s.scheduler = "vllm-v1";
  s.strategy = "paged";
  s.placement = "buddy";
  s.queue_order = "fcfs";
  s.block_size = Tokens(1);
  s.capacity = Tokens(14);
  s.max_model_len = Tokens(100);
  s.max_num_seqs = 2;
  s.budget = Tokens(5);
  for (const bool fast_forward : {true, false}) {
    INFO("fast-forward " << fast_forward);
    Core core(s, fast_forward, 2);
    workload::Request r;
    r.prompt_tokens = Tokens(5);
    r.output_tokens = r.max_tokens = Tokens(6);
    for (const std::uint32_t id : {0U, 1U}) core.scheduler().arrive(static_cast<RequestId>(id), r);
    SimTime now;
    bool preempted = false;
    std::int64_t tokens = 0;
    std::size_t finished = 0;
    while (finished < 2) {
      while (core.has_room()) {
        const Batch& batch = core.plan(now);
        if (!preempted && !batch.preempted.empty()) {
          preempted = true;
          CHECK(tokens == 3 + 2);
          CHECK(batch.preempted.front().request == RequestId{1});
        }
        if (batch.empty()) break;
      }
      now = core.next_end();
      const StepOutcome& outcome = core.end_oldest();
      if (tokens == 3 + 2) CHECK(outcome.tokens == 1);  // the second one's, which is not on the GPU any more
      tokens += outcome.tokens;
      finished += outcome.finished.size();
    }
    CHECK(preempted);
    CHECK(tokens == 6 + 6);
    CHECK(core.memory().available() == 14);
  }
}
