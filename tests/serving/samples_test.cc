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

TEST_CASE("more samples than seats never fit") {
  const TraceFile trace({{SimTime(0), 10, 20, ",4"}, {SimTime(0), 10, 20, ",3"}}, ",n");
  const metrics::Summary s = summary_of(small_engine(trace), with(kSmall, {"engine.max_num_seqs=3"}));
  CHECK(s.rejected == 1);
  CHECK(s.finished == 1);
}

TEST_CASE("what cannot run several samples says so") {
  const TraceFile trace({{SimTime(0), 10, 20, ""}});
  const std::string v0 = refusal(small_engine(trace), {"workload.n=2", "engine.scheduler=vllm-v0"});
  CHECK(v0.find("engine.scheduler: vllm-v0 runs one sample a request here") != std::string::npos);
  const std::string cached = refusal(small_engine(trace), {"workload.n=2", "prefix_cache.enable=true"});
  CHECK(cached.find("prefix_cache.enable: not combined with several samples") != std::string::npos);
  CHECK(refusal(small_engine(trace), {"workload.n=0"}).find("workload.n") != std::string::npos);
}
