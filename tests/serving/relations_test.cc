// What must not change, or must change one way only, when one thing in a scenario does.
#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "sim/kv/allocator/strategies.h"
#include "tests/serving/laws.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

// Requests of 1 to `longest` + `longest` tokens, some together, some apart.
std::vector<Row> random_rows(std::int64_t longest) {
  std::vector<Row> rows;
  SimTime arrival;
  const int n = *rc::gen::inRange(1, 50);
  for (int i = 0; i < n; ++i) {
    arrival += milliseconds(*rc::gen::element(0, 0, 3, 10, 40));
    rows.push_back({arrival, *rc::gen::inRange<std::int64_t>(1, longest + 1),
                    *rc::gen::inRange<std::int64_t>(1, longest + 1), fmt::format(",{}", *rc::gen::inRange(0, 3))});
  }
  return rows;
}

// More than 50 requests of 512 tokens could ever hold, in any strategy.
const std::string kAmple = "kv_cache.budget=65536 tokens";

std::string requests_of(const TraceFile& trace, const Sets& sets) {
  return requests_csv(run(small_engine(trace), sets).collector);
}

metrics::Summary summary_of(const std::string& yaml, const Sets& sets) {
  const scenario::Document scenario = parsed(yaml, sets);
  const serving::RunResult result = serving::run(scenario, config_folder());
  REQUIRE(broken_laws(result, scenario) == std::vector<std::string>{});
  return result.summary;
}

}  // namespace

TEST_CASE("with ample memory every strategy gives one schedule") {
  REQUIRE(rc::check([] {
    const TraceFile trace(random_rows(200), ",priority");
    Sets base{kAmple, "engine.max_model_len=512"};
    base.push_back(
        fmt::format("engine.scheduler={}", *rc::gen::elementOf(std::vector<std::string>{"vllm-v1", "orca"})));
    base.push_back(
        fmt::format("engine.queue_order={}", *rc::gen::elementOf(std::vector<std::string>{"fcfs", "priority"})));
    base.push_back(fmt::format("engine.max_num_seqs={}", *rc::gen::inRange(1, 60)));
    base.push_back(fmt::format("engine.max_num_batched_tokens={}", *rc::gen::element(64, 300, 2048)));
    const bool fixed = *rc::gen::arbitrary<bool>();
    if (!fixed) base.emplace_back("cost.model=roofline");
    const auto with = [&](const std::vector<std::string>& more) {
      Sets sets = base;
      sets.insert(sets.end(), more.begin(), more.end());
      return requests_of(trace, sets);
    };
    const std::string paged = with({"kv_cache.strategy=paged"});
    RC_ASSERT(with({"kv_cache.block_size=1"}) == paged);
    RC_ASSERT(with({"kv_cache.block_size=64"}) == paged);
    RC_ASSERT(with({"prefix_cache.enable=true"}) == paged);  // no prompt shares anything with another
    for (const char* reservation : {"max_model_len", "max_tokens", "pow2", "oracle", "grow"}) {
      for (const char* placement : {"buddy", "first_fit", "next_fit", "best_fit", "worst_fit"}) {
        RC_ASSERT(with({"kv_cache.strategy=contiguous", fmt::format("kv_cache.reservation={}", reservation),
                        "kv_cache.initial_tokens=512",  // nothing has to move
                        fmt::format("kv_cache.placement={}", placement)}) == paged);
      }
    }
    RC_ASSERT(with({"kv_cache.strategy=virtual", "kv_cache.page_size=64 KiB", "kv_cache.map_cost=0 ms"}) == paged);
    // Without a cache the same is computed again and again, which takes no time where all steps take the same.
    if (fixed) RC_ASSERT(with({"kv_cache.strategy=none"}) == paged);
  }));
}

TEST_CASE("regions that grow and pages that are mapped take the time that copies and mappings take") {
  // One request of 100 + 100 tokens. Llama 3 8B writes 128 KiB a token. From 101 slots on its region doubles when it
  // holds 101 tokens, once: 2 x 101 x 131,072 bytes at 2,039 GB/s take 12,985 ns.
  const TraceFile one({{SimTime(0), 100, 100, ""}});
  const auto with = [&](std::vector<std::string> sets) {
    sets.emplace_back(kAmple);
    return summary_of(small_engine(one), sets);
  };
  const metrics::Summary plain = with({"kv_cache.strategy=paged"});
  const metrics::Summary grown = with({"kv_cache.strategy=contiguous", "kv_cache.reservation=grow",
                                       "kv_cache.initial_tokens=1", "kv_cache.placement=first_fit"});
  CHECK(grown.memory_work.copied == Bytes(101 * 131072));
  CHECK(grown.memory_work.time.count() == Approx(12985).margin(20));
  CHECK(to_time(grown.makespan_s) == to_time(plain.makespan_s) + grown.memory_work.time);
  // 199 tokens take 7 pages of 32 in each of 64 tensors.
  const metrics::Summary mapped =
      with({"kv_cache.strategy=virtual", "kv_cache.page_size=64 KiB", "kv_cache.map_cost=10 us"});
  CHECK(mapped.memory_work.pages_mapped == 7 * 64);
  CHECK(mapped.memory_work.time == SimTime(7 * 64 * 10'000));
  CHECK(to_time(mapped.makespan_s) == to_time(plain.makespan_s) + mapped.memory_work.time);
}

// Without a cache the k-th token costs a forward pass over all before it: n tokens n * n / 2, once prompts are long
// enough to keep the GPU busy. With one, each costs about the same.
TEST_CASE("without a cache time grows with the square of the output") {
  const auto makespan = [](const char* strategy, std::int64_t output) {
    const TraceFile one({{SimTime(0), 1, output, ""}});
    return summary_of(small_engine(one), {kAmple, "cost.model=roofline", fmt::format("kv_cache.strategy={}", strategy)})
        .makespan_s;
  };
  CHECK(makespan("paged", 6000) / makespan("paged", 3000) == Approx(2).epsilon(0.1));
  CHECK(makespan("none", 6000) / makespan("none", 3000) == Approx(4).epsilon(0.1));
}

// Requests that write far more than a region starts with have to move, and to go when there is no place; still all are
// served, and compaction moves regions where it helps.
TEST_CASE("regions that grow preempt where there is no place, and serve everybody") {
  const TraceFile trace(std::vector<Row>(30, {SimTime(0), 40, 100, ""}));
  for (const NameDoc& placement : kv::placements()) {
    for (const char* compaction : {"never", "on_failure", "0.1"}) {
      const metrics::Summary s = summary_of(
          small_engine(trace),
          {"kv_cache.budget=1000 tokens", "engine.max_model_len=400", "kv_cache.initial_tokens=8",
           "kv_cache.strategy=contiguous", "kv_cache.reservation=grow",
           fmt::format("kv_cache.placement={}", placement.name), fmt::format("kv_cache.compaction={}", compaction)});
      CAPTURE(placement.name, compaction);
      CHECK(s.finished == 30);
      CHECK(s.preemptions > 0);
      CHECK(s.memory_work.copied > Bytes(0));
      if (std::string(compaction) == "never") CHECK(s.memory_work.compactions == 0);
    }
  }
}

TEST_CASE("what a client declares decides nothing on paged memory") {
  REQUIRE(rc::check([] {
    const TraceFile trace(random_rows(100), ",priority");
    const Sets base{"kv_cache.budget=30 blocks", "engine.max_model_len=400", "engine.max_num_seqs=20"};
    Sets declared = base;
    declared.emplace_back("workload.max_tokens.rule=model_limit");
    RC_ASSERT(requests_of(trace, declared) == requests_of(trace, base));
  }));
}

TEST_CASE("the longest reservation runs the fewest at once") {
  // 64 equal requests at 0, each of which writes 128 of at most 1,024 tokens; 4,096 slots. Regions of 1,024 hold 4 of
  // them, of 256 (declared 129 tokens of output) 16, of 128 the 32 that paged memory holds.
  const TraceFile trace(std::vector<Row>(64, {SimTime(0), 100, 29, ",157"}), ",max_tokens");
  const auto most = [&](const std::vector<std::string>& more) {
    Sets sets{"kv_cache.budget=4096 tokens", "engine.max_model_len=1024", "engine.scheduler=orca",
              "workload.max_tokens.rule=recorded"};
    sets.insert(sets.end(), more.begin(), more.end());
    return summary_of(small_engine(trace), sets);
  };
  const auto reserved = [&](const char* reservation) {
    return most({"kv_cache.strategy=contiguous", fmt::format("kv_cache.reservation={}", reservation)});
  };
  const metrics::Summary longest = reserved("max_model_len");
  const metrics::Summary declared = reserved("max_tokens");
  const metrics::Summary oracle = reserved("oracle");
  CHECK(longest.max_running == 4);
  CHECK(declared.max_running == 16);
  CHECK(oracle.max_running == 32);
  CHECK(most({"kv_cache.strategy=paged"}).max_running >= 32);
  // And the ledger says why: (1,024 - 128) / 1,024 held for nothing, all the time.
  CHECK(share(longest, MemoryState::over_reserved).mean_share == Approx(0.875));
  CHECK(share(declared, MemoryState::over_reserved).mean_share == Approx(0.5));
  CHECK(share(oracle, MemoryState::over_reserved).mean_share == 0);
  CHECK(longest.makespan_s > declared.makespan_s);
  CHECK(declared.makespan_s > oracle.makespan_s);
}

TEST_CASE("a larger pool does not preempt more often, where it does not also let more in") {
  // Two requests grow together from one block to 10. Both get in whatever the pool, and while it holds no more than 19
  // blocks one has to go once. (With more of them, or longer prompts, this is no law: a little more memory lets one in
  // that has to go again.)
  const TraceFile two(std::vector<Row>(2, {SimTime(0), 16, 145, ""}));
  for (int usable = 10; usable <= 24; ++usable) {
    CAPTURE(usable);
    const metrics::Summary s = summary_of(small_engine(two), {fmt::format("kv_cache.budget={} blocks", usable + 1)});
    CHECK(s.preemptions == (usable < 20 ? 1 : 0));
    CHECK(s.finished == 2);
  }
}

TEST_CASE("where all fits at once nothing is preempted, and the pool's size decides nothing") {
  const TraceFile trace(std::vector<Row>(8, {SimTime(0), 16, 145, ""}));
  const auto with = [&](int usable) { return Sets{fmt::format("kv_cache.budget={} blocks", usable + 1)}; };
  CHECK(summary_of(small_engine(trace), with(79)).preemptions > 0);
  CHECK(summary_of(small_engine(trace), with(80)).preemptions == 0);
  CHECK(requests_of(trace, with(80)) == requests_of(trace, with(800)));
}

TEST_CASE("2,048-token reservations run several times fewer at once than pages, and the ledger says why") {
  const scenario::Document shipped = scenario::load(config_folder() / "compare-reservations-opt-13b.yaml", schema());
  CHECK(shipped.tokens("engine.max_model_len") == Tokens(2048));
  for (const char* scheduler : {"orca", "vllm-v1"}) {
    // 20 req/s: far more than it can serve.
    const auto with = [&](const char* strategy) {
      const Sets sets{fmt::format("engine.scheduler={}", scheduler), fmt::format("kv_cache.strategy={}", strategy),
                      "workload.generate.requests=800", "workload.generate.arrivals.rate=20 req/s"};
      const scenario::Document scenario =
          scenario::load(config_folder() / "compare-reservations-opt-13b.yaml", schema(), sets);
      const serving::RunResult result = serving::run(scenario, config_folder());
      REQUIRE(broken_laws(result, scenario) == std::vector<std::string>{});
      return result.summary;
    };
    const metrics::Summary pages = with("paged");
    const metrics::Summary regions = with("contiguous");
    CAPTURE(scheduler, pages.mean_running, regions.mean_running);
    CHECK(regions.mean_waiting > 100);  // a backlog: seats of memory are what they lack
    CHECK(regions.max_running == 7);    // regions of 2,048 in 15,728 slots
    CHECK(pages.mean_running >= 2.5 * regions.mean_running);
    CHECK(share(regions, MemoryState::over_reserved).mean_share > 0.5);
    CHECK(share(pages, MemoryState::over_reserved).mean_share == 0);
    CHECK(share(pages, MemoryState::live).mean_share > 2.5 * share(regions, MemoryState::live).mean_share);
    CHECK(pages.makespan_s < regions.makespan_s);
  }
}

// What a listener hears, added up: tokens written and given back are the run's, and the ledger after each change is
// whole.
TEST_CASE("the changes of the pool add up to what the run computed") {
  const TraceFile trace(std::vector<Row>(20, {SimTime(0), 30, 60, ""}));
  for (const char* strategy : {"paged", "contiguous", "virtual"}) {
    const scenario::Document scenario = parsed(
        small_engine(trace), {"kv_cache.budget=600 tokens", "engine.max_model_len=200", "output.memory_events=true",
                              "kv_cache.page_size=64 KiB", fmt::format("kv_cache.strategy={}", strategy)});
    std::int64_t held = 0;
    std::int64_t written = 0;
    serving::RunControl control;
    control.memory_changed = [&](SimTime /*now*/, const MemoryChange& change, Bytes piece) {
      const bool gives = change.operation == MemoryOperation::release;
      held += gives ? -change.tokens.count() : change.tokens.count();
      written += gives ? 0 : change.tokens.count();
      REQUIRE(change.after[MemoryState::live] * piece.count() == held * 131072);
    };
    const serving::RunResult result = serving::run(scenario, config_folder(), control);
    CHECK(held == 0);
    CHECK(written == result.summary.computed_tokens);
    CHECK(result.summary.finished == 20);
  }
}

// Mistral 7B looks back at 4,096 tokens. What has fallen out of the window is free in the step after; a step computes
// at most 2,048 tokens, so that no more than 4,095 + 2,048 and the rest of a block are ever held; under the engine's
// prefix cache likewise, which other eviction policies do not know.
TEST_CASE("what falls out of a sliding window is freed") {
  const TraceFile one({{SimTime(0), 6000, 1000, ""}});
  const auto live = [&](std::vector<std::string> sets) {
    sets.insert(sets.end(), {"model=mistral-7b", "kv_cache.budget=16384 tokens"});
    const metrics::Summary s = summary_of(small_engine(one), sets);
    const double tokens = static_cast<double>(s.capacity.count()) / 131072;
    return share(s, MemoryState::live).peak_share * tokens;
  };
  const double freed = live({});
  CHECK(freed >= 4096);
  CHECK(freed < 4095 + 2048 + 16);
  CHECK(live({"prefix_cache.enable=true"}) == freed);
  CHECK(live({"prefix_cache.enable=true", "prefix_cache.eviction=lfu"}) == Approx(6999));
  CHECK(live({"engine.max_model_len=4096", "workload.trace.limit=1"}) == 0);  // too long a prompt is turned away
}
