// vLLM V0's scheduler: laws on random scenarios, and its peculiarities one by one. That it decides as the engine does
// is shown by the recorded runs (tests/study).
#include "sim/sched/vllm_v0.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <memory>

using namespace blockyard;
using namespace blockyard::sched;

namespace {

constexpr Tokens kBlockSize(4);

class Contents final : public kv::ContentSource {
 public:
  // Prompts of one group begin alike.
  void content_of(RequestId request, Content& out) override {
    const auto i = static_cast<std::int64_t>(index_of(request));
    out = {{i % 3 * 1000, 10}, {100'000 + i * 1000, 500}};
  }
};

struct World {
  World(const VllmV0Options& options, std::int64_t gpu, std::int64_t host, bool caching)
      : memory({Blocks(gpu), Blocks(host), kBlockSize, 0.01, caching ? &contents : nullptr}),
        scheduler(options, memory) {}

  void arrive(std::uint32_t id, std::int64_t prompt, std::int64_t output, std::int32_t priority = 0) {
    workload::Request request;
    request.arrival = SimTime(step);
    request.prompt_tokens = Tokens(prompt);
    request.output_tokens = request.max_tokens = Tokens(output);
    request.priority = priority;
    scheduler.arrive(static_cast<RequestId>(id), request);
  }
  const StepOutcome& take_step() {
    batch = &scheduler.schedule(SimTime(step));
    ++step;
    return scheduler.complete(SimTime(step));
  }

  Contents contents;
  kv::V0Memory memory;
  VllmV0 scheduler;
  const Batch* batch = nullptr;
  std::int64_t step = 0;
};

std::vector<RequestId> preempted(const Batch& batch) {
  std::vector<RequestId> ids;
  for (const Preempted& one : batch.preempted) ids.push_back(one.request);
  return ids;
}

struct Scenario {
  VllmV0Options options;
  std::int64_t gpu = 0;
  std::int64_t host = 0;
  bool caching = false;
  std::vector<std::tuple<int, int, int, int>> requests;  // prompt, output, priority, gap to the one before
};

rc::Gen<Scenario> scenarios() {
  return rc::gen::exec([] {
    Scenario s;
    s.options.chunked_prefill = *rc::gen::arbitrary<bool>();
    s.options.priority = *rc::gen::arbitrary<bool>();
    s.options.max_num_seqs = *rc::gen::inRange(1, 9);
    s.options.max_num_batched_tokens = Tokens(4 * *rc::gen::inRange(2, 20));
    s.options.max_model_len = Tokens(*rc::gen::inRange(20, 80));
    s.gpu = *rc::gen::inRange(8, 40);
    s.caching = *rc::gen::arbitrary<bool>();
    if (!s.caching && *rc::gen::arbitrary<bool>()) {
      s.options.preemption = V0Preemption::swap;
      s.options.recompute_when_host_is_full = true;
      s.host = *rc::gen::inRange(0, 40);
    }
    s.requests = *rc::gen::container<std::vector<std::tuple<int, int, int, int>>>(rc::gen::tuple(
        rc::gen::inRange(1, 60), rc::gen::inRange(1, 30), rc::gen::inRange(-2, 3), rc::gen::inRange(0, 4)));
    return s;
  });
}

}  // namespace

TEST_CASE("any scenario: no request is lost, memory adds up, nobody exceeds the limits") {
  REQUIRE(rc::check([] {
    const Scenario s = *scenarios();
    World world(s.options, s.gpu, s.host, s.caching);
    std::size_t arrived = 0;
    std::int64_t next_arrival = 0;
    std::int64_t ended = 0;
    std::int64_t tokens = 0;
    std::int64_t finished_tokens = 0;
    for (std::int64_t steps = 0; steps < 3000; ++steps) {
      while (arrived < s.requests.size() && next_arrival <= world.step) {
        const auto& [prompt, output, priority, gap] = s.requests[arrived];
        world.arrive(static_cast<std::uint32_t>(arrived), prompt, output, priority);
        next_arrival += gap;
        ++arrived;
      }
      const StepOutcome& outcome = world.take_step();
      RC_ASSERT(world.batch->failure.empty());
      tokens += outcome.tokens;
      for (const Finish& f : outcome.finished) {
        const auto& [prompt, output, priority, gap] = s.requests[index_of(f.request)];
        // Chunked prefill lets prompts beyond the limit pass; they end after one token.
        RC_ASSERT(f.generated.count() <= std::max(std::int64_t{1}, s.options.max_model_len.count() + 1 - prompt));
        RC_ASSERT(f.generated <= Tokens(output));
        finished_tokens += f.generated.count();
        ++ended;
      }
      for (const Finish& f : world.batch->ignored) {
        finished_tokens += f.generated.count();
        ++ended;
      }
      RC_ASSERT(world.scheduler.running() + world.scheduler.waiting() + ended == static_cast<std::int64_t>(arrived));
      const MemoryPartition p = world.memory.partition();
      RC_ASSERT(p.total() == s.gpu * kBlockSize.count());
      for (const std::int64_t slots : p.slots) RC_ASSERT(slots >= 0);
      std::int64_t computed = world.batch->decodes;
      for (const Chunk& chunk : world.batch->chunks) computed += chunk.fresh.count();
      RC_ASSERT(computed == outcome.computed);
      RC_ASSERT(computed <= std::max(s.options.max_num_batched_tokens.count(), world.batch->decodes));
      if (arrived == s.requests.size() && world.scheduler.running() == 0 && world.scheduler.waiting() == 0) {
        RC_ASSERT(tokens == finished_tokens);
        RC_ASSERT(world.memory.available() == s.gpu);
        RC_ASSERT(world.memory.host_available() + world.memory.host_lost() == s.host);
        return;
      }
    }
  }));
}

TEST_CASE("a sequence may reach one token more than max_model_len") {
  VllmV0Options options;
  options.max_model_len = Tokens(10);
  World world(options, 20, 0, false);
  world.arrive(0, 10, 5);
  const StepOutcome& outcome = world.take_step();
  REQUIRE(outcome.finished.size() == 1);
  CHECK(outcome.finished[0].generated == Tokens(1));
}

TEST_CASE("prefills come before decodes and are the whole step") {
  World world({}, 20, 0, false);
  world.arrive(0, 8, 5);
  world.take_step();
  world.arrive(1, 8, 5);
  world.take_step();
  CHECK(world.batch->decodes == 0);
  CHECK(world.batch->chunks.size() == 1);
  world.take_step();
  CHECK(world.batch->decodes == 2);
}

TEST_CASE("prompts beyond the limit or the pool are ignored, without output") {
  VllmV0Options options;
  options.max_num_batched_tokens = Tokens(32);
  World world(options, 6, 0, false);
  world.arrive(0, 33, 5);
  world.arrive(1, 25, 5);
  world.arrive(2, 4, 1);
  world.take_step();
  REQUIRE(world.batch->ignored.size() == 2);
  CHECK(world.batch->ignored[0].request == static_cast<RequestId>(0));
  CHECK(world.batch->admitted == std::vector<RequestId>{static_cast<RequestId>(2)});
  CHECK(world.scheduler.running() + world.scheduler.waiting() == 0);
}

TEST_CASE("with no block free every decode preempts, even where none is needed") {
  World world({}, 4, 0, false);
  world.arrive(0, 5, 9);
  world.arrive(1, 5, 9);
  world.take_step();
  world.take_step();
  CHECK(preempted(*world.batch) == std::vector<RequestId>{static_cast<RequestId>(1)});
}

TEST_CASE("a host pool that runs out kills the engine, or falls back to recompute where that is asked for") {
  VllmV0Options options;
  options.preemption = V0Preemption::swap;
  {
    World world(options, 4, 1, false);
    world.arrive(0, 5, 9);
    world.arrive(1, 5, 9);
    world.take_step();
    CHECK(world.scheduler.schedule(SimTime(world.step)).failure == VllmV0::kHostExhausted);
  }
  options.recompute_when_host_is_full = true;
  World world(options, 4, 1, false);
  world.arrive(0, 5, 9);
  world.arrive(1, 5, 9);
  world.take_step();
  world.take_step();
  CHECK(world.batch->failure.empty());
  CHECK(preempted(*world.batch) == std::vector<RequestId>{static_cast<RequestId>(1)});
}

TEST_CASE("one swapped-out request keeps all prompts waiting, and its stall ends when it is back") {
  VllmV0Options options;
  options.preemption = V0Preemption::swap;
  World world(options, 6, 10, false);
  world.arrive(0, 8, 6);
  world.arrive(1, 8, 6);
  world.take_step();  // 4 blocks of 6
  world.take_step();  // each decode takes one: none left
  world.arrive(2, 4, 1);
  world.take_step();
  REQUIRE(world.batch->swapped_out.size() == 1);
  CHECK(world.batch->swapped_out[0].request == static_cast<RequestId>(1));
  CHECK(world.batch->swapped_out[0].blocks == Blocks(3));
  CHECK(world.scheduler.swapped() == 1);
  CHECK(world.scheduler.waiting() == 2);
  // 3 blocks are free and 3 are needed: it is back in the next step, before the prompt that needs one.
  const StepOutcome& outcome = world.take_step();
  CHECK(world.batch->admitted.empty());
  REQUIRE(world.batch->swapped_in.size() == 1);
  REQUIRE(outcome.restored.size() == 1);
  CHECK(outcome.restored[0].stall == SimTime(2));
  CHECK(world.batch->decodes == 2);
}

TEST_CASE("an urgent request drives out less urgent ones and comes in with the next step") {
  VllmV0Options options;
  options.priority = true;
  World world(options, 6, 0, false);
  world.arrive(0, 8, 9, 1);
  world.arrive(1, 8, 9, 2);
  world.take_step();
  world.arrive(2, 12, 3, 0);
  world.take_step();
  CHECK(preempted(*world.batch) == std::vector<RequestId>{static_cast<RequestId>(1)});
  CHECK(world.batch->decodes == 1);
  world.take_step();
  CHECK(world.batch->admitted == std::vector<RequestId>{static_cast<RequestId>(2)});
}

TEST_CASE("an aborted request leaves its queue and its memory at once, wherever it is") {
  VllmV0Options options;
  options.preemption = V0Preemption::swap;
  World world(options, 6, 10, false);
  world.arrive(0, 8, 6);
  world.arrive(1, 8, 6);
  for (int i = 0; i < 3; ++i) world.take_step();
  world.arrive(2, 4, 1);
  REQUIRE(world.scheduler.swapped() == 1);
  for (const std::uint32_t id : {2U, 1U, 0U}) CHECK(world.scheduler.abort(static_cast<RequestId>(id)));
  CHECK_FALSE(world.scheduler.abort(static_cast<RequestId>(1)));
  CHECK(world.memory.available() == 6);
  CHECK(world.memory.host_available() == 10);
  CHECK(world.scheduler.running() + world.scheduler.waiting() == 0);
}

TEST_CASE("recomputed positions are counted, those found in the prefix cache are not") {
  // In step 5 the first takes the fifth block for its ninth token, and the second, with 8 tokens computed, has to go.
  // When the first has ended it comes back with 9 tokens.
  for (const bool caching : {false, true}) {
    World world({}, 5, 0, caching);
    world.arrive(0, 5, 6);
    world.arrive(1, 5, 6);
    for (int i = 0; i < 5; ++i) world.take_step();
    REQUIRE(preempted(*world.batch) == std::vector<RequestId>{static_cast<RequestId>(1)});
    std::int64_t again = 0;
    while (world.scheduler.running() + world.scheduler.waiting() > 0) {
      for (const Recompute& r : world.take_step().recomputed) again += r.tokens.count();
    }
    CHECK(again == (caching ? 0 : 8));
  }
}
