// Models whose layers do not all keep the same past, on the engine's unified pages.
#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/model/sizing.h"
#include "sim/serving/hardware.h"
#include "tests/serving/laws.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

Sets with(Sets sets, const Sets& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

// On sums and step by step, all laws held.
metrics::Summary summary_of(const std::string& yaml, const Sets& sets) {
  const serving::RunControl control{.go_on = {}, .time_series = true};
  const scenario::Document scenario = parsed(yaml, sets);
  const serving::RunResult result = serving::run(scenario, config_folder(), control);
  REQUIRE(broken_laws(result, scenario) == std::vector<std::string>{});
  REQUIRE(files_of(run(yaml, with(sets, {"engine.fast_forward=false"}), control)) == files_of(result));
  return result.summary;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

double mean(const metrics::Summary& s, MemoryState state) { return share(s, state).mean_share; }

bool has_note(const metrics::Summary& s, const std::string& part) {
  return std::any_of(s.identity.notes.begin(), s.identity.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

const Sets kModels{"gpt-oss-20b", "gpt-oss-120b",          "gemma-2-9b",  "gemma-3-27b", "gemma-3-1b",
                   "command-r7b", "llama-4-scout-17b-16e", "qwen3.5-27b", "bamba-9b",    "llama-3-8b"};

}  // namespace

// gpt-oss-20b: 12 layers of full attention and 12 with a window of 128, 8 x (64 + 64) x 2 = 2,048 B a token and layer:
// one table of each, blocks of 16 x 12 x 2,048 = 393,216 B, no padding. 300 tokens of prompt, 101 of output. The step
// of the prompt takes 19 blocks in each table; the next frees floor((300 - 128 + 1) / 16) = 10 of the window's.
TEST_CASE("one request of a model with two kinds of layers, step by step") {
  const TraceFile trace({{SimTime(0), 300, 101, ""}});
  const metrics::Summary s =
      summary_of(small_engine(trace), {"model=gpt-oss-20b", "kv_cache.budget=65 blocks", "engine.max_model_len=1024"});
  CHECK(s.steps == 101);
  CHECK(s.capacity == Bytes(64 * 393'216));
  double held = 2 * 19;
  double live = 2 * 300;
  for (std::int64_t written = 301; written <= 400; ++written) {
    const std::int64_t out = (written - 1 - 128 + 1) / 16;
    held += static_cast<double>(2 * ceil_div(written, 16) - out);
    live += static_cast<double>(2 * written - 16 * out);
  }
  CHECK(mean(s, MemoryState::live) == Approx(live / 101 / (64 * 16)).epsilon(1e-12));
  CHECK(mean(s, MemoryState::tail) == Approx((16 * held - live) / 101 / (64 * 16)).epsilon(1e-12));
  CHECK(mean(s, MemoryState::padding) == 0);
  CHECK(share(s, MemoryState::free).mean_share == Approx(1 - held / 101 / 64).epsilon(1e-12));
  CHECK(has_note(s, "1 for full attention, 1 for windows of 128"));

  // Without the manager all layers keep all: blocks of twice the bytes, so half as many, and nothing is freed.
  const metrics::Summary off =
      summary_of(small_engine(trace), {"model=gpt-oss-20b", "kv_cache.budget=33 blocks", "engine.max_model_len=1024",
                                       "kv_cache.hybrid_kv_cache_manager=off"});
  CHECK(off.capacity == s.capacity);
  CHECK(mean(off, MemoryState::live) == Approx((300 + 50.0 * 701) / 101 / (32 * 16)).epsilon(1e-12));
  CHECK(has_note(off, "keep every token"));
}

// gemma-3-27b: 10 layers of full attention and 52 with a window of 1,024, 16 x (128 + 128) x 2 = 8,192 B a token and
// layer. Groups of 10, so 6 for the windows, which are short of 8 layers: a block of 16 x 10 x 8,192 = 1,310,720 B, and
// 8 of 60 layers' pages padding. 20 tokens take 2 blocks in each of the 7 tables.
TEST_CASE("groups that are short of layers leave padding") {
  const TraceFile trace({{SimTime(0), 20, 1, ""}});
  const metrics::Summary s = summary_of(small_engine(trace), {"model=gemma-3-27b", "kv_cache.budget=101 blocks"});
  CHECK(s.capacity == Bytes(100 * 1'310'720));
  const double layer = 8192;
  const double pool = 100 * 1'310'720;
  CHECK(mean(s, MemoryState::live) == Approx(20 * 62 * layer / pool).epsilon(1e-12));
  CHECK(mean(s, MemoryState::tail) == Approx(12 * 62 * layer / pool).epsilon(1e-12));
  CHECK(mean(s, MemoryState::padding) == Approx(32 * 8 * layer / pool).epsilon(1e-12));
  CHECK(mean(s, MemoryState::free) == Approx(0.86).epsilon(1e-12));
}

// qwen3.5-27b: 16 layers of full attention, 4 x (256 + 256) x 2 = 4,096 B a token and layer, and 48 with a state of
// 48 x 128 x 128 x 4 + 3 x (2 x 16 x 128 + 48 x 128) x 2 = 3,207,168 B. Attention's block grows to 16 x 49 = 784
// tokens, 3,211,264 B, to hold a state; blocks of 16 of these; 3 tables of states. 800 tokens: 2 + 3 blocks.
TEST_CASE("a recurrent state takes its blocks whatever the length") {
  const TraceFile trace({{SimTime(0), 800, 1, ""}});
  const metrics::Summary s = summary_of(small_engine(trace), {"model=qwen3.5-27b", "kv_cache.budget=11 blocks"});
  const double pool = 10.0 * 16 * 3'211'264;
  CHECK(s.capacity == Bytes(10LL * 16 * 3'211'264));
  CHECK(mean(s, MemoryState::live) == Approx((800 * 16 * 4096.0 + 48 * 3'207'168.0) / pool).epsilon(1e-12));
  CHECK(mean(s, MemoryState::tail) == Approx((2 * 784 - 800) * 16 * 4096.0 / pool).epsilon(1e-12));
  CHECK(mean(s, MemoryState::padding) == Approx(48 * (3'211'264.0 - 3'207'168) / pool).epsilon(1e-12));
  CHECK(mean(s, MemoryState::free) == Approx(0.5).epsilon(1e-12));
}

TEST_CASE("a run has the blocks that `size` shows, and as many requests fit") {
  const TraceFile nothing({{SimTime(0), 1, 1, ""}});
  for (const std::string& model : kModels) {
    for (const std::string budget : {"budget=auto", "budget=300000 tokens", "budget=2000 blocks", "budget=9 GiB"}) {
      for (const std::string manager : {"on", "off"}) {
        const Sets sets{"model=" + model,
                        "hardware.gpu=h200-141gb-sxm",
                        "hardware.tensor_parallel_size=" + std::string(model[0] == 'l' ? "4" : "1"),
                        "engine.max_model_len=8192",
                        "engine.max_num_batched_tokens=2048",
                        "engine.max_num_seqs=64",
                        "kv_cache." + budget,
                        "kv_cache.hybrid_kv_cache_manager=" + manager};
        const scenario::Document scenario = parsed(small_engine(nothing), sets);
        const serving::Assembly run = serving::assemble(scenario, config_folder());
        model::SizeOptions o;
        o.tp = scenario.integer("hardware.tensor_parallel_size");
        o.gpu_memory_utilization = scenario.real("hardware.gpu_memory_utilization");
        o.max_model_len = Tokens(8192);
        o.max_num_batched_tokens = Tokens(2048);
        o.max_num_seqs = 64;
        o.hybrid_manager = manager == "on";
        if (budget == "budget=300000 tokens") o.request = Tokens(300'000);
        if (budget == "budget=2000 blocks") o.request = Blocks(2000);
        if (budget == "budget=9 GiB") o.request = Bytes(9LL << 30);
        const model::Sizing size = model::size_of(serving::load_model(scenario, config_folder()),
                                                  serving::load_gpu(scenario, config_folder()).spec, o);
        INFO(model << " " << budget << " " << manager);
        CHECK(run.engines.front().memory->total_grains() == size.kv_blocks.count() - 1);
        CHECK(run.engines.front().memory->total_pieces() * run.metrics.slot_bytes ==
              (size.kv_blocks.count() - 1) * size.bound().layout.block_bytes.count() * o.tp);
        // `size` counts a block more of each window than a sequence within it can hold.
        const kv::SequenceNeed longest{Tokens(8191), Tokens(8191), Tokens(8191)};
        std::int64_t windows = 0;
        for (const model::PageGroup& group : size.bound().layout.groups)
          windows += group.window > Tokens(0) ? group.groups : 0;
        const std::int64_t whole = run.engines.front().memory->whole_demand(longest);
        CHECK(whole <= size.blocks_of(Tokens(8192)).count());
        CHECK(whole >= size.blocks_of(Tokens(8191)).count() - windows);
      }
    }
  }
}

// As many of the longest requests as `size` says run side by side to their ends; one more has to wait or is preempted.
TEST_CASE("the concurrency that `size` shows is reached without a preemption") {
  for (const std::string model : {"gpt-oss-20b", "gemma-3-27b", "qwen3.5-27b"}) {
    std::vector<Row> rows;
    for (int i = 0; i < 3; ++i) rows.push_back({SimTime(0), 2300, 596, ""});  // 2,895 of 2,896 tokens
    const TraceFile trace(rows);
    model::SizeOptions o;
    o.max_model_len = Tokens(2896);
    o.max_num_batched_tokens = Tokens(512);
    const Sets sets{"model=" + model, "hardware.gpu=h200-141gb-sxm", "engine.max_model_len=2896",
                    "engine.max_num_batched_tokens=512"};
    const scenario::Document scenario = parsed(small_engine(trace), sets);
    const model::Sizing size = model::size_of(serving::load_model(scenario, config_folder()),
                                              serving::load_gpu(scenario, config_folder()).spec, o);
    const std::int64_t blocks = 3 * size.blocks_of(Tokens(2896)).count() + 1;
    const metrics::Summary s =
        summary_of(small_engine(trace), with(sets, {fmt::format("kv_cache.budget={} blocks", blocks)}));
    INFO(model);
    CHECK(s.preemptions == 0);
    CHECK(s.max_running == 3);
    CHECK(has_note(s, fmt::format("{} blocks each", size.blocks_of(Tokens(2896)).count())));
  }
}

TEST_CASE("short of memory, hybrid models give the same run on sums and step by step") {
  std::vector<Row> rows;
  for (int i = 0; i < 40; ++i) rows.push_back({milliseconds(13 * i), 20 + 37 * i % 500, 10 + 53 * i % 300, ""});
  const TraceFile trace(rows);
  for (const std::string model : {"gpt-oss-20b", "gemma-3-1b", "command-r7b", "qwen3.5-27b", "bamba-9b"}) {
    const bool states = model[0] == 'q' || model[0] == 'b';
    const Sets sets{"model=" + model, "engine.max_model_len=1024", "engine.max_num_batched_tokens=300",
                    states ? "kv_cache.budget=40 blocks" : "kv_cache.budget=400 blocks"};
    const metrics::Summary s = summary_of(small_engine(trace), sets);
    INFO(model);
    CHECK(s.finished == 40);
    if (!states) CHECK(s.preemptions > 0);
    (void)summary_of(small_engine(trace), with(sets, {"preemption.mode=swap"}));
    (void)summary_of(small_engine(trace), with(sets, {"engine.queue_order=priority", "preemption.victim=largest"}));
    (void)summary_of(small_engine(trace), with(sets, {"engine.scheduler=orca"}));
  }
}

// A conversation's second turn repeats the 401 tokens of the first, of which 400 are computed: 25 full blocks, all in
// the table of full attention and of the window's the last ceil(127 / 16) = 8. The first turn has taken 50 of 64
// blocks, and 17 of those have left its window before the others were freed. Another request in between takes 30: the
// 14 that hold nothing, and 16 that no lookup needs. If it takes 38, the full table loses its last 7 blocks, and the
// window's before those are gone: nothing is found.
TEST_CASE("a prefix cache finds what windows need and no more") {
  const TraceFile trace(
      {{SimTime(0), 300, 101, ",1"}, {milliseconds(5000), 240, 1, ",2"}, {milliseconds(10000), 500, 1, ",1"}},
      ",session");
  const Sets sets{"model=gpt-oss-20b", "kv_cache.budget=65 blocks", "engine.max_model_len=1024",
                  "prefix_cache.enable=true"};
  const metrics::Summary s = summary_of(small_engine(trace), sets);
  CHECK(s.prefix_cache.hit_tokens == 400);
  CHECK(s.computed_tokens == 400 + 240 + 100);
  CHECK(has_note(s, "1 for full attention, 1 for windows of 128"));
  const TraceFile longer(
      {{SimTime(0), 300, 101, ",1"}, {milliseconds(5000), 300, 1, ",2"}, {milliseconds(10000), 500, 1, ",1"}},
      ",session");
  CHECK(summary_of(small_engine(longer), sets).prefix_cache.hit_tokens == 0);
  // While it runs, what has left a window is as free as without a cache.
  const metrics::Summary off = summary_of(small_engine(trace), with(sets, {"prefix_cache.enable=false"}));
  const metrics::Summary one_turn = summary_of(small_engine(trace), with(sets, {"workload.trace.limit=1"}));
  const metrics::Summary one_off =
      summary_of(small_engine(trace), with(sets, {"workload.trace.limit=1", "prefix_cache.enable=false"}));
  CHECK(mean(one_turn, MemoryState::live) == mean(one_off, MemoryState::live));
  CHECK(mean(one_turn, MemoryState::cached) > 0);
  CHECK(off.prefix_cache.hit_tokens == 0);
}

TEST_CASE("the prefix cache of a model with recurrent state is off unless asked for") {
  const TraceFile trace({{SimTime(0), 300, 5, ",1"}, {milliseconds(5000), 500, 5, ",1"}}, ",session");
  const Sets sets{"model=qwen3.5-27b", "kv_cache.budget=40 blocks", "engine.max_model_len=2048"};
  const metrics::Summary off = summary_of(small_engine(trace), with(sets, {"prefix_cache.enable=auto"}));
  CHECK(off.prefix_cache.hit_tokens == 0);
  CHECK(has_note(off, "auto is off for"));
  CHECK(has_note(off, "for recurrent state"));
  CHECK(summary_of(small_engine(trace), with(sets, {"prefix_cache.enable=true"})).prefix_cache.hit_tokens == 304);
  const Sets full{"model=llama-3-8b", "kv_cache.budget=400 blocks", "engine.max_model_len=2048"};
  CHECK(summary_of(small_engine(trace), with(full, {"prefix_cache.enable=auto"})).prefix_cache.hit_tokens == 304);
}

TEST_CASE("where tables cannot be told apart, every token stays, and the report says so") {
  const TraceFile trace({{SimTime(0), 300, 101, ""}});
  for (const Sets& more : {Sets{"prefix_cache.enable=true", "prefix_cache.eviction=lfu"}, Sets{"workload.n=2"},
                           Sets{"preemption.mode=swap"}, Sets{"engine.scheduler=vllm-v0"}}) {
    const metrics::Summary s =
        summary_of(small_engine(trace), with({"model=gpt-oss-20b", "kv_cache.budget=101 blocks"}, more));
    INFO(more[0]);
    CHECK(has_note(s, "fall out of a sliding window are held"));
    const std::int64_t usable = more[0] == "engine.scheduler=vllm-v0" ? 101 : 100;
    CHECK(s.capacity == Bytes(usable * 16 * 49'152));
  }
}
