// Pipeline stages: several batches under way, after the engine's own loop.
#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <string>
#include <vector>

#include "sim/model/sizing.h"
#include "sim/serving/hardware.h"
#include "tests/serving/laws.h"
#include "tests/serving/random_scenario.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

const serving::RunControl kWithSeries{.go_on = {}, .time_series = true};

std::string stages(std::int64_t n) { return fmt::format("hardware.pipeline_parallel_size={}", n); }

// vLLM V1's engine core with a queue of batches (v0.13: EngineCore.step_with_batch_queue, Scheduler.schedule and
// update_from_output; fcfs, without a prefix cache), written after its text and with nothing of ours. Every stage takes
// the same time for every batch.
class EngineCore {
 public:
  struct Limits {
    std::int64_t batched_tokens = 0;
    std::int64_t seqs = 0;
    std::int64_t block_size = 0;
    std::int64_t blocks = 0;
  };
  struct Request {
    std::int64_t prompt = 0;
    std::int64_t output = 0;
    SimTime arrival;
    std::int64_t computed = 0;
    std::int64_t generated = 0;
    std::int64_t blocks = 0;
    bool done = false;
    SimTime first;
    SimTime end;
  };

  EngineCore(const Limits& limits, const std::vector<Row>& rows, std::size_t batches, SimTime stage)
      : limits_(limits), free_(limits.blocks), stage_(stage), batches_(batches), stage_free_(batches) {
    for (const Row& row : rows) requests_.push_back({row.prompt, row.output, row.arrival, 0, 0, 0, false, {}, {}});
  }

  void run() {
    std::size_t arrived = 0;
    std::size_t done = 0;
    while (done < requests_.size()) {
      for (; arrived < requests_.size() && requests_[arrived].arrival <= now_; ++arrived) waiting_.push_back(arrived);
      const bool unfinished = !waiting_.empty() || !running_.empty();
      if (unfinished && queue_.size() < batches_) {
        Batch batch = schedule();
        const bool executes = !batch.plan.empty();
        if (executes || queue_.empty()) {
          batch.end = executes ? pass() : now_ + stage_ * static_cast<std::int64_t>(batches_);
          queue_.push_back(std::move(batch));
        }
        if (executes && queue_.size() < batches_) continue;
      }
      if (queue_.empty()) {
        now_ = requests_[arrived].arrival;
        continue;
      }
      const Batch batch = std::move(queue_.front());
      queue_.pop_front();
      now_ = batch.end;
      done += update(batch);
    }
  }

  [[nodiscard]] const std::vector<Request>& requests() const { return requests_; }
  [[nodiscard]] std::int64_t preemptions() const { return preemptions_; }

 private:
  struct Planned {
    std::size_t request;
    std::int64_t upto;
  };
  struct Batch {
    std::vector<Planned> plan;
    SimTime end;
  };

  [[nodiscard]] std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens + limits_.block_size - 1) / limits_.block_size;
  }
  bool allocate(Request& r, std::int64_t tokens) {
    const std::int64_t more = blocks_for(tokens) - r.blocks;
    if (more > free_) return false;
    free_ -= more;
    r.blocks += more;
    return true;
  }
  void release(Request& r) {
    free_ += r.blocks;
    r.blocks = 0;
  }
  SimTime pass() {
    SimTime at = now_;
    for (SimTime& free : stage_free_) at = free = std::max(at, free) + stage_;
    return at;
  }

  Batch schedule() {
    Batch batch;
    std::int64_t budget = limits_.batched_tokens;
    const auto plan = [&](std::size_t i, std::int64_t n) {
      requests_[i].computed += n;
      budget -= n;
      batch.plan.push_back({i, requests_[i].computed});
    };
    bool preempted = false;
    for (std::size_t k = 0; k < running_.size() && budget > 0; ++k) {
      const std::size_t i = running_[k];
      Request& r = requests_[i];
      const std::int64_t n = std::min(r.prompt + r.generated - r.computed, budget);
      if (n == 0) continue;  // its last token is not known yet
      bool granted = true;
      while (granted && !allocate(r, r.computed + n)) {
        const std::size_t victim = running_.back();
        running_.pop_back();
        release(requests_[victim]);
        requests_[victim].computed = 0;
        waiting_.push_front(victim);
        preempted = true;
        ++preemptions_;
        granted = victim != i;
      }
      if (!granted) break;
      plan(i, n);
    }
    while (!preempted && !waiting_.empty() && budget > 0 && std::ssize(running_) < limits_.seqs) {
      const std::size_t i = waiting_.front();
      const std::int64_t n = std::min(requests_[i].prompt + requests_[i].generated, budget);
      if (!allocate(requests_[i], n)) break;
      waiting_.pop_front();
      running_.push_back(i);
      plan(i, n);
    }
    return batch;
  }

  std::size_t update(const Batch& batch) {
    std::size_t done = 0;
    for (const auto& [i, upto] : batch.plan) {
      Request& r = requests_[i];
      if (r.done || upto != r.prompt + r.generated) continue;
      if (++r.generated == 1) r.first = now_;
      if (r.generated < r.output) continue;
      r.done = true;
      r.end = now_;
      release(r);
      std::erase(running_, i);
      std::erase(waiting_, i);
      ++done;
    }
    return done;
  }

  Limits limits_;
  std::int64_t free_;
  SimTime stage_;
  std::size_t batches_;
  std::vector<SimTime> stage_free_;
  std::vector<Request> requests_;
  std::vector<std::size_t> running_;
  std::deque<std::size_t> waiting_;
  std::deque<Batch> queue_;
  SimTime now_;
  std::int64_t preemptions_ = 0;
};

}  // namespace

TEST_CASE("a pipeline serves as the engine's own loop does") {
  REQUIRE(rc::check([] {
    const std::int64_t batches = *rc::gen::inRange(2, 5);
    const std::int64_t block_size = *rc::gen::element(1, 4, 16);
    const std::int64_t longest = 60;
    std::vector<Row> rows;
    SimTime arrival;
    const int n = *rc::gen::inRange(1, 40);
    for (int i = 0; i < n; ++i) {
      const SimTime gap = *rc::gen::element(SimTime(0), SimTime(0), milliseconds(1), milliseconds(5), milliseconds(60));
      if (i > 0) arrival += gap;  // a trace begins at its first arrival
      rows.push_back(
          {arrival, *rc::gen::inRange<std::int64_t>(1, longest), *rc::gen::inRange<std::int64_t>(1, 40), ""});
    }
    EngineCore::Limits limits;
    limits.seqs = *rc::gen::inRange(1, 12);
    limits.batched_tokens = limits.seqs + *rc::gen::inRange(0, 50);
    limits.block_size = block_size;
    limits.blocks = (longest + 40) / block_size + *rc::gen::inRange(1, 12);
    EngineCore engine(limits, rows, static_cast<std::size_t>(batches), milliseconds(5));
    engine.run();

    const TraceFile trace(rows);
    const Sets sets{stages(batches),
                    fmt::format("cost.step={} ms", 5 * batches),
                    "engine.max_model_len=200",
                    fmt::format("engine.max_num_seqs={}", limits.seqs),
                    fmt::format("engine.max_num_batched_tokens={}", limits.batched_tokens),
                    fmt::format("kv_cache.block_size={}", block_size),
                    fmt::format("kv_cache.budget={} blocks", limits.blocks + 1)};  // and the null block
    const serving::RunResult result = run(small_engine(trace), sets);
    RC_CLASSIFY(engine.preemptions() > 0, "preempts");
    RC_ASSERT(result.summary.preemptions == engine.preemptions());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      RC_ASSERT(result.collector.records()[i].first_token == engine.requests()[i].first);
      RC_ASSERT(result.collector.records()[i].ended == engine.requests()[i].end);
    }
  }));
}

TEST_CASE("whatever is run on several stages, the laws hold, and fast-forward changes no byte") {
  REQUIRE(rc::check([] {
    const RandomScenario scenario = random_scenario();
    RC_LOG() << scenario.yaml;
    Sets sets{stages(*rc::gen::inRange(2, 6)), "preemption.mode=recompute", "preemption.victim=engine",
              "preemption.tail_blocks=false", "engine.async_scheduling=auto"};
    for (const char* tier : {"host", "nvme"}) sets.push_back(fmt::format("prefix_cache.tiers.{}.size=none", tier));
    if (scenario.yaml.find("strategy: none") != std::string::npos) sets.emplace_back("kv_cache.strategy=paged");
    if (scenario.yaml.find("vllm-v0") != std::string::npos) sets.emplace_back("engine.scheduler=vllm-v1");
    const scenario::Document document = parsed(scenario.yaml, sets);
    try {
      (void)serving::assemble(document, config_folder());
    } catch (const InputError&) {
      RC_DISCARD("requests of several samples");
    }
    const serving::RunResult result = serving::run(document, config_folder(), kWithSeries);
    RC_CLASSIFY(result.summary.preemptions > 0, "preempts");
    RC_ASSERT(broken_laws(result, document) == std::vector<std::string>{});
    RC_ASSERT(result.summary.pipeline.bubble() >= SimTime(0));
    sets.emplace_back("engine.fast_forward=false");
    RC_ASSERT(files_of(run(scenario.yaml, sets, kWithSeries)) == files_of(result));
  }));
}

TEST_CASE("a pipeline that is stuck with batches under way ends when its last batch ended") {
  // 10 blocks hold 160 tokens of the 249: from the 161st on the request preempts itself, and what it computes again
  // goes into chunks of 64, two of them under way.
  const TraceFile trace({{SimTime(0), 50, 200, ""}});
  Sets sets{stages(2),
            "cost.step=14 ms",
            "engine.max_model_len=1024",
            "engine.max_num_seqs=4",
            "engine.max_num_batched_tokens=64",
            "kv_cache.budget=11 blocks",
            "admission.never_fits=engine",
            "prefix_cache.enable=false"};
  const serving::RunResult result = run(small_engine(trace), sets, kWithSeries);
  CHECK(result.summary.stuck.starts_with("no progress"));
  CHECK(result.summary.unfinished == 1);
  CHECK(result.summary.makespan_s > 100);  // 10,000 batches, one each 7 ms or later
  sets.emplace_back("engine.fast_forward=false");
  CHECK(files_of(run(small_engine(trace), sets, kWithSeries)) == files_of(result));
}

TEST_CASE("two stages: closed forms") {
  // A stage takes 10 ms for every batch. Chunks of 2,048 tokens.
  const auto one = [](const std::vector<Row>& rows) {
    const TraceFile trace(rows);
    return run(small_engine(trace), {stages(2), "cost.step=20 ms", "engine.max_model_len=8192"});
  };
  SECTION("a lone request has one batch under way: half of the pipeline is a bubble") {
    const serving::RunResult r = one({{SimTime(0), 100, 3, ""}});
    CHECK(r.summary.ttft.mean_s == Approx(0.020));
    CHECK(r.summary.e2e.mean_s == Approx(0.060));
    CHECK(r.summary.pipeline.computing == milliseconds(60));
    CHECK(r.summary.pipeline.bubble() == milliseconds(60));
  }
  SECTION("chunks of one prompt follow each other: 4 of them take 3 x 10 ms and then the way through") {
    CHECK(one({{SimTime(0), 8191, 1, ""}}).summary.ttft.mean_s == Approx(0.050));
  }
  SECTION("two prompts that do not fit one batch take turns") {
    // 2,000 and 48 tokens leave at 20 ms, the other 1,952 at 30 ms; from then on both decode, 20 ms a token each.
    const serving::RunResult r = one({{SimTime(0), 2000, 3, ""}, {SimTime(0), 2000, 3, ""}});
    CHECK(r.collector.records()[0].first_token == milliseconds(20));
    CHECK(r.collector.records()[1].first_token == milliseconds(30));
    CHECK(r.collector.records()[0].ended == milliseconds(60));
    CHECK(r.collector.records()[1].ended == milliseconds(70));
    CHECK(r.summary.pipeline.bubble() == milliseconds(20));  // the first and the last 10 ms
  }
  SECTION("prompts of one batch stay together, and the other stage has nothing to do") {
    const serving::RunResult r = one({{SimTime(0), 1000, 3, ""}, {SimTime(0), 1000, 3, ""}});
    CHECK(r.summary.e2e.max_s == Approx(0.060));
    CHECK(*r.summary.pipeline.share(r.summary.pipeline.bubble()) == Approx(0.5));
  }
}

TEST_CASE("what a request waits for in a pipeline is in its time ledger") {
  // The first request's decodes stand in batches of their own; each takes 20 ms, of which it is charged all.
  const TraceFile trace({{SimTime(0), 2000, 3, ""}, {SimTime(0), 2000, 3, ""}});
  const serving::RunControl rows{.go_on = {}, .time_series = true};
  const serving::RunResult r =
      run(small_engine(trace), {stages(2), "cost.step=20 ms", "engine.max_model_len=8192"}, rows);
  const metrics::TimeLedger& time = r.collector.time();
  using metrics::TimeBucket;
  CHECK(time.of_finished()[TimeBucket::decode_own].mean_s == Approx(0.040));
  // The second one's chunks are under way from 0 to 20 and from 0 to 30 ms.
  CHECK(time.of_finished()[TimeBucket::prefill_own].mean_s == Approx(0.025));
}

TEST_CASE("the pool of a pipeline is the one that `size` tells, and more stages never make it smaller") {
  for (const char* name : {"llama-3-8b", "qwen2.5-7b", "opt-13b", "mixtral-8x7b", "gemma-3-27b"}) {
    if (!std::filesystem::exists(config_folder() / "models" / (std::string(name) + ".yaml")) &&
        !std::filesystem::exists(config_folder() / "models" / (std::string(name) + ".json")))
      continue;
    const model::ModelSpec spec = serving::model_named(name, config_folder());
    std::int64_t before = 0;
    for (const std::int64_t pp : {1, 2, 3, 4, 8}) {
      INFO(name << ", " << pp << " stages");
      model::SizeOptions size;
      size.pp = pp;
      size.tp = 2;
      size.max_num_batched_tokens = Tokens(2048);
      size.max_num_seqs = 256;
      size.max_model_len = Tokens(4096);
      const model::Sizing sizing =
          model::size_of(spec, serving::gpu_named("h100-80gb-sxm", config_folder()).spec, size);
      const scenario::Document document = parsed(fmt::format(
          "model: {}\nhardware: {{gpu: h100-80gb-sxm, tensor_parallel_size: 2, pipeline_parallel_size: {}}}\n"
          "workload: {{generate: {{requests: 1, arrivals: {{process: poisson, rate: 1 req/s}}, prompt_tokens: "
          "{{distribution: constant, value: 9}}, output_tokens: {{distribution: constant, value: 9}}}}}}\n"
          "engine: {{max_model_len: 4096, max_num_batched_tokens: 2048, max_num_seqs: 256}}\n"
          "prefix_cache: {{enable: false}}\n",
          name, pp));
      const serving::Assembly assembly = serving::assemble(document, config_folder());
      CHECK(assembly.engines.front().memory->total_grains() == sizing.kv_blocks.count() - 1);
      CHECK(assembly.engines.front().memory->total_grains() >= before);
      before = assembly.engines.front().memory->total_grains();
      CHECK(assembly.identity.gpus == 2 * pp);
    }
  }
}

TEST_CASE("one stage said is one stage not said") {
  const TraceFile trace({{SimTime(0), 2000, 30, ""}, {milliseconds(3), 900, 20, ""}, {milliseconds(3), 70, 90, ""}});
  const Sets roofline{"cost.model=roofline"};
  CHECK(files_of(run(small_engine(trace), {"cost.model=roofline", stages(1)}, kWithSeries)) ==
        files_of(run(small_engine(trace), roofline, kWithSeries)));
}

TEST_CASE("a slower link between the stages serves nobody sooner") {
  const TraceFile trace({{SimTime(0), 2000, 30, ""}, {milliseconds(3), 2900, 20, ""}, {milliseconds(3), 70, 90, ""}});
  double before = 0;
  for (const char* bandwidth : {"400 GB/s", "25 GB/s", "1 GB/s", "10 MB/s"}) {
    const metrics::Summary s = run(small_engine(trace), {"cost.model=roofline", stages(4),
                                                         fmt::format("hardware.links.stage.bandwidth={}", bandwidth)})
                                   .summary;
    CHECK(s.makespan_s > before);
    CHECK(s.pipeline.sending > SimTime(0));
    before = s.makespan_s;
  }
}

TEST_CASE("what does not go with several stages is told, all of it") {
  const TraceFile trace({{SimTime(0), 20, 3, ""}});
  const auto told = [&](const Sets& more) {
    Sets sets{stages(2)};
    sets.insert(sets.end(), more.begin(), more.end());
    try {
      (void)run(small_engine(trace), sets);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(told({}).empty());
  const std::string all = told({"preemption.mode=swap", "preemption.victim=largest", "engine.async_scheduling=true"});
  CHECK(all.find("preemption.mode: expected recompute") != std::string::npos);
  CHECK(all.find("preemption.victim: expected engine") != std::string::npos);
  CHECK(all.find("engine.async_scheduling: expected false") != std::string::npos);
  CHECK(told({"engine.scheduler=vllm-v0"}).find("engine.scheduler") != std::string::npos);
  CHECK(told({stages(33)}).find("expected 1 to the 32 layers") != std::string::npos);
}
