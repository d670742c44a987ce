// Requests of several samples and of beams, as the program runs them.
#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "tests/serving/laws.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

metrics::Summary summary_of(const std::string& yaml, const Sets& sets) {
  const scenario::Document scenario = parsed(yaml, sets);
  const serving::RunResult result = serving::run(scenario, config_folder());
  REQUIRE(broken_laws(result, scenario) == std::vector<std::string>{});
  return result.summary;
}

std::string refusal(const std::string& yaml, const Sets& sets) {
  try {
    (void)run(yaml, sets);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

Sets with(Sets sets, std::initializer_list<const char*> more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

const Sets kSmall{"kv_cache.budget=64 blocks", "engine.max_model_len=512", "engine.scheduler=orca"};

}  // namespace

TEST_CASE("one request of three samples, step by step") {
  // 20 tokens of prompt in blocks of 16, 14 tokens of output. The step of the prompt: 2 blocks, 3 without sharing... as
  // each sample would have its own: 6. Then 13 steps of decodes, positions 20 to 32: block 2 is copied twice, so 1 + 3
  // blocks for 12 steps (6 apart) until position 32 begins a third: 1 + 6 (9 apart).
  const TraceFile trace({{SimTime(0), 20, 14, ""}});
  const metrics::Summary s = summary_of(small_engine(trace), with(kSmall, {"workload.n=3"}));
  CHECK(s.output_tokens == 42);
  CHECK(s.computed_tokens == 20 + 3 * 13);
  CHECK(s.steps == 14);
  CHECK(s.itl.count == 39);
  CHECK(s.max_running == 1);
  const double held = 2 + 12 * 4 + 7;
  const double apart = 6 + 12 * 6 + 9;
  REQUIRE(s.shared_blocks_saved);
  CHECK(*s.shared_blocks_saved == Approx((apart - held) / apart).epsilon(1e-12));
  // Slots that are live: 20 in the first step, then a shared block and three of their own.
  double live = 20;
  for (int written = 21; written <= 33; ++written) live += 16 + 3 * (written - 16);
  CHECK(share(s, MemoryState::live).mean_share == Approx(live / 14 / (64 * 16)).epsilon(1e-12));
}

TEST_CASE("beams that never switch are samples; beams that do hold fewer blocks") {
  const TraceFile trace({{SimTime(0), 100, 300, ""}, {milliseconds(35), 77, 200, ""}});
  const Sets beams = with(kSmall, {"workload.n=4", "workload.decoding=beam_search", "kv_cache.budget=400 blocks"});
  const metrics::Summary samples = summary_of(small_engine(trace), with(beams, {"workload.decoding=sample"}));
  const metrics::Summary never = summary_of(small_engine(trace), with(beams, {"workload.beam_switch=0"}));
  const metrics::Summary rarely = summary_of(small_engine(trace), with(beams, {"workload.beam_switch=0.02"}));
  const metrics::Summary always = summary_of(small_engine(trace), beams);
  CHECK(*never.shared_blocks_saved == *samples.shared_blocks_saved);
  CHECK(*rarely.shared_blocks_saved > *samples.shared_blocks_saved + 0.05);
  CHECK(*always.shared_blocks_saved > *rarely.shared_blocks_saved);
  CHECK(*always.shared_blocks_saved < 0.75);  // one of four is the least that can be held
}

TEST_CASE("one sample a request is what a run without samples is") {
  REQUIRE(rc::check([] {
    std::vector<Row> rows;
    const int n = *rc::gen::inRange(1, 40);
    for (int i = 0; i < n; ++i) {
      rows.push_back(
          {milliseconds(7 * i), *rc::gen::inRange<std::int64_t>(1, 90), *rc::gen::inRange<std::int64_t>(1, 90), ",1"});
    }
    // The column makes the run one that could have several.
    const TraceFile column(rows, ",n");
    for (Row& row : rows) row.rest.clear();
    const TraceFile plain(rows);
    const char* const strategy = *rc::gen::element("kv_cache.strategy=paged", "kv_cache.strategy=contiguous");
    const char* const scheduler = *rc::gen::element("engine.scheduler=orca", "engine.scheduler=vllm-v1");
    const Sets sets{"kv_cache.budget=20 blocks", "engine.max_model_len=200", strategy, scheduler};
    RC_ASSERT(requests_csv(run(small_engine(column), sets).collector) ==
              requests_csv(run(small_engine(plain), sets).collector));
  }));
}

TEST_CASE("with ample memory samples run alike on paged and on contiguous memory") {
  REQUIRE(rc::check([] {
    std::vector<Row> rows;
    const int n = *rc::gen::inRange(1, 20);
    for (int i = 0; i < n; ++i) {
      rows.push_back({milliseconds(13 * i), *rc::gen::inRange<std::int64_t>(1, 90),
                      *rc::gen::inRange<std::int64_t>(1, 90), fmt::format(",{}", *rc::gen::inRange(1, 7))});
    }
    const TraceFile trace(rows, ",n");
    const Sets ample{"kv_cache.budget=65536 tokens", "engine.max_model_len=256", "engine.max_num_seqs=20",
                     *rc::gen::element("cost.model=fixed", "cost.model=roofline"),
                     *rc::gen::element("engine.scheduler=orca", "engine.scheduler=vllm-v1")};
    const std::string paged = requests_csv(run(small_engine(trace), ample).collector);
    for (const char* strategy : {"kv_cache.block_size=1", "kv_cache.strategy=contiguous"}) {
      RC_ASSERT(requests_csv(run(small_engine(trace), with(ample, {strategy})).collector) == paged);
    }
  }));
}

TEST_CASE("samples whose prompts nobody shares run alike with a prefix cache and without") {
  REQUIRE(rc::check([] {
    std::vector<Row> rows;
    const int n = *rc::gen::inRange(1, 20);
    for (int i = 0; i < n; ++i) {
      rows.push_back({milliseconds(13 * i), *rc::gen::inRange<std::int64_t>(1, 90),
                      *rc::gen::inRange<std::int64_t>(1, 90), fmt::format(",{}", *rc::gen::inRange(1, 7))});
    }
    const TraceFile trace(rows, ",n");
    const Sets ample{"kv_cache.budget=65536 tokens", "engine.max_model_len=256", "engine.max_num_seqs=20",
                     fmt::format("kv_cache.block_size={}", *rc::gen::element(1, 5, 16)),
                     *rc::gen::element("engine.scheduler=orca", "engine.scheduler=vllm-v1")};
    const serving::RunResult plain = run(small_engine(trace), ample);
    const serving::RunResult cached = run(small_engine(trace), with(ample, {"prefix_cache.enable=true"}));
    RC_ASSERT(requests_csv(cached.collector) == requests_csv(plain.collector));
    RC_ASSERT(cached.summary.shared_blocks_saved == plain.summary.shared_blocks_saved);
    RC_ASSERT(share(cached.summary, MemoryState::live).mean_share ==
              share(plain.summary, MemoryState::live).mean_share);
    RC_ASSERT(share(cached.summary, MemoryState::tail).mean_share ==
              share(plain.summary, MemoryState::tail).mean_share);
  }));
}

TEST_CASE("samples share a prompt that another request has left in the cache") {
  // 40 tokens of prompt in blocks of 16, 33 of them the same in both; 10 of output, two samples each. The second finds
  // 2 blocks of the first one's prompt, computes 8 tokens, and each sample a block of its own for positions 32 to 48.
  const TraceFile trace({{SimTime(0), 40, 10, ",1,33,2"}, {milliseconds(200), 40, 10, ",1,33,2"}},
                        ",prefix_id,prefix_tokens,n");
  const metrics::Summary s =
      summary_of(small_engine(trace), {"kv_cache.budget=101 blocks", "engine.max_model_len=512"});
  CHECK(s.prefix_cache.hit_tokens == 32);
  CHECK(s.prefix_cache.looked_up_tokens == 80);
  CHECK(s.computed_tokens == 2 * (40 + 2 * 9) - 32);
  CHECK(s.output_tokens == 40);
  // While decoding positions 40 to 48: 2 shared blocks, and 1 of each sample's own, 2 from position 48 on.
  CHECK(s.shared_blocks_saved.has_value());
}

TEST_CASE("samples in a cache that is short of blocks keep the laws, and the same run step by step") {
  std::vector<Row> rows;
  for (int i = 0; i < 40; ++i) {
    rows.push_back({milliseconds(17 * i), 10 + 37 * i % 120, 1 + 53 * i % 90,
                    fmt::format(",{},{},{}", i % 3 + 1, 5 + 11 * i % 60, 1 + i % 5)});
  }
  const TraceFile trace(rows, ",prefix_id,prefix_tokens,n");
  const serving::RunControl control{.go_on = {}, .time_series = true};
  for (const char* const eviction : {"lru", "lfu", "opt", "gdsf"}) {
    for (const char* const scheduler : {"vllm-v1", "orca"}) {
      const Sets sets{"kv_cache.budget=60 blocks", "engine.max_model_len=256", "prefix_cache.enable=true",
                      fmt::format("prefix_cache.eviction={}", eviction), fmt::format("engine.scheduler={}", scheduler)};
      const metrics::Summary s = summary_of(small_engine(trace), sets);
      CHECK(s.preemptions > 0);
      CHECK(s.prefix_cache.hit_tokens > 0);
      CHECK(files_of(run(small_engine(trace), sets, control)) ==
            files_of(run(small_engine(trace), with(sets, {"engine.fast_forward=false"}), control)));
    }
  }
}

TEST_CASE("contiguous memory holds a region a sample") {
  const TraceFile trace({{SimTime(0), 10, 20, ""}});
  const metrics::Summary s =
      summary_of(small_engine(trace), with(kSmall, {"workload.n=5", "kv_cache.strategy=contiguous",
                                                    "kv_cache.reservation=oracle", "kv_cache.placement=first_fit"}));
  CHECK(share(s, MemoryState::free).peak_share == Approx(1.0));  // after the end
  const double regions = 5 * 29;
  CHECK(share(s, MemoryState::live).mean_share + share(s, MemoryState::reserved).mean_share ==
        Approx(regions / (64 * 16)).epsilon(1e-12));
  CHECK_FALSE(s.shared_blocks_saved);
}

TEST_CASE("samples that need more regions together than there are slots never fit") {
  const TraceFile trace({{SimTime(0), 10, 20, ",4"}, {SimTime(0), 10, 20, ",3"}}, ",n");
  const metrics::Summary s = summary_of(
      small_engine(trace),
      with(kSmall, {"kv_cache.strategy=contiguous", "kv_cache.reservation=oracle", "kv_cache.placement=first_fit",
                    "kv_cache.budget=100 tokens", "engine.max_model_len=64"}));
  CHECK(s.rejected == 1);  // 4 x 29 slots
  CHECK(s.finished == 1);
}

TEST_CASE("vllm-v0 makes a request of each sample") {
  const TraceFile samples(
      {{SimTime(0), 40, 10, ",3"}, {milliseconds(15), 25, 30, ",1"}, {milliseconds(15), 9, 2, ",2"}}, ",n");
  const Row first{SimTime(0), 40, 10, ""};
  const Row third{milliseconds(15), 9, 2, ""};
  const TraceFile requests({first, first, first, {milliseconds(15), 25, 30, ""}, third, third});
  const Sets sets{"engine.scheduler=vllm-v0", "kv_cache.budget=12 blocks", "engine.max_model_len=128"};
  CHECK(requests_csv(run(small_engine(samples), sets).collector) ==
        requests_csv(run(small_engine(requests), sets).collector));
}

TEST_CASE("more samples than seats never fit") {
  const TraceFile trace({{SimTime(0), 10, 20, ",4"}, {SimTime(0), 10, 20, ",3"}}, ",n");
  const metrics::Summary s = summary_of(small_engine(trace), with(kSmall, {"engine.max_num_seqs=3"}));
  CHECK(s.rejected == 1);
  CHECK(s.finished == 1);
}

TEST_CASE("what cannot run several samples says so") {
  const TraceFile trace({{SimTime(0), 10, 20, ""}});
  const std::string v0 =
      refusal(small_engine(trace), {"workload.n=2", "workload.decoding=beam_search", "engine.scheduler=vllm-v0"});
  CHECK(v0.find("workload.decoding: vllm-v0 runs no beams") != std::string::npos);
  const std::string cached =
      refusal(small_engine(trace), {"workload.n=2", "workload.decoding=beam_search", "prefix_cache.enable=true"});
  CHECK(cached.find("prefix_cache.enable: not combined with beams") != std::string::npos);
  CHECK(refusal(small_engine(trace), {"workload.n=0"}).find("workload.n") != std::string::npos);
}
