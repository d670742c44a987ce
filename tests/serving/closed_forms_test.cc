// Runs small or regular enough to be worked out by hand: every expected figure stands in a comment.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/serving/laws.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

// vllm-v1 with 2,048 tokens a step on blocks of 16, in steps of 10 ms; on sums and step by step.
serving::RunResult run_with(const TraceFile& trace, Sets sets) {
  const std::string yaml = small_engine(trace);
  const serving::RunControl control{.go_on = {}, .time_series = true};
  const scenario::Document scenario = parsed(yaml, sets);
  serving::RunResult result = serving::run(scenario, config_folder(), control);
  REQUIRE(broken_laws(result, scenario) == std::vector<std::string>{});
  sets.emplace_back("engine.fast_forward=false");
  REQUIRE(files_of(run(yaml, sets, control)) == files_of(result));
  return result;
}

double seconds(std::int64_t ms) { return static_cast<double>(ms) / 1e3; }

}  // namespace

TEST_CASE("two requests, worked out to the nanosecond") {
  // 10 usable blocks of 16 slots, 32 tokens a step. A: 40 in, 3 out, at 0 ms. B: 20 in, 2 out, at 5 ms.
  //   step    A computes   B computes   live          blocks   tail           ends with
  //   0-10    32           waits        32            2        0
  //   10-20   8            20           40 + 20       3 + 2    8 + 12         first tokens of A and B
  //   20-30   1            1            41 + 21       3 + 2    7 + 11         A's second, B's second and last
  //   30-40   1            -            42            3        6              A's third and last
  const TraceFile trace({{SimTime(0), 40, 3, ""}, {milliseconds(5), 20, 2, ""}});
  const serving::RunResult result =
      run_with(trace, {"engine.max_num_batched_tokens=32", "engine.max_num_seqs=8", "kv_cache.budget=11 blocks"});
  const metrics::Summary& s = result.summary;

  REQUIRE(result.collector.records().size() == 2);
  const metrics::RequestRecord& a = result.collector.records()[0];
  const metrics::RequestRecord& b = result.collector.records()[1];
  CHECK(a.admitted == SimTime(0));
  CHECK(a.first_token == milliseconds(20));
  CHECK(a.ended == milliseconds(40));
  CHECK(b.admitted == milliseconds(10));
  CHECK(b.first_token == milliseconds(20));
  CHECK(b.ended == milliseconds(30));

  CHECK(s.makespan_s == Approx(seconds(40)).epsilon(1e-14));
  CHECK(s.steps == 4);
  CHECK(s.output_tokens == 5);
  CHECK(s.computed_tokens == 42 + 21);
  CHECK(*s.admission.mean_s == Approx(seconds(5) / 2).epsilon(1e-14));  // 0 and 5 ms
  CHECK(*s.ttft.mean_s == Approx(seconds(35) / 2).epsilon(1e-14));      // 20 and 15 ms
  CHECK(*s.tpot.mean_s == Approx(seconds(10)).epsilon(1e-14));          // (40 - 20) / 2 and (30 - 20) / 1
  CHECK(*s.e2e.mean_s == Approx(seconds(65) / 2).epsilon(1e-14));       // 40 and 25 ms
  CHECK(s.itl.count == 3);
  CHECK(*s.itl.max_s == seconds(10));

  CHECK(s.mean_running == Approx((1 + 2 + 2 + 1) / 4.0).epsilon(1e-14));
  CHECK(s.max_running == 2);
  CHECK(s.mean_waiting == Approx(5.0 / 40).epsilon(1e-14));  // B, from 5 to 10 ms
  CHECK(s.capacity == Bytes(160 * 131072));                  // 32 layers x 2 x 8 heads x 128 x 2 bytes a token
  CHECK(share(s, MemoryState::live).mean_share == Approx((32 + 60 + 62 + 42) / 640.0).epsilon(1e-14));
  CHECK(share(s, MemoryState::live).peak_share == Approx(62.0 / 160).epsilon(1e-14));
  CHECK(share(s, MemoryState::tail).mean_share == Approx((0 + 20 + 18 + 6) / 640.0).epsilon(1e-14));
  CHECK(share(s, MemoryState::tail).peak_share == Approx(20.0 / 160).epsilon(1e-14));
  CHECK(share(s, MemoryState::free).mean_share == Approx((8 + 5 + 5 + 7) * 16 / 640.0).epsilon(1e-14));
}

TEST_CASE("the same two requests in regions of max_tokens") {
  // 128 slots, placed first-fit. As above, but A holds 42 slots and B 21, from their admission to their end:
  //   step    live   reserved                free
  //   0-10    32     42 - 32                 86
  //   10-20   60     42 - 40 + 21 - 20       65
  //   20-30   62     42 - 41 + 21 - 21       65
  //   30-40   42     42 - 42                 86
  const TraceFile trace({{SimTime(0), 40, 3, ""}, {milliseconds(5), 20, 2, ""}});
  const metrics::Summary s = run_with(trace, {"engine.max_num_batched_tokens=32", "engine.max_num_seqs=8",
                                              "kv_cache.budget=128 tokens", "kv_cache.strategy=contiguous",
                                              "kv_cache.reservation=max_tokens", "kv_cache.placement=first_fit"})
                                 .summary;
  CHECK(s.steps == 4);
  CHECK(share(s, MemoryState::live).mean_share == Approx((32 + 60 + 62 + 42) / 512.0).epsilon(1e-14));
  CHECK(share(s, MemoryState::reserved).mean_share == Approx((10 + 3 + 1 + 0) / 512.0).epsilon(1e-14));
  CHECK(share(s, MemoryState::over_reserved).peak_share == 0);
  CHECK(share(s, MemoryState::free).mean_share == Approx((86 + 65 + 65 + 86) / 512.0).epsilon(1e-14));
}

TEST_CASE("a request that the whole pool cannot hold is rejected at its arrival") {
  // 101 blocks serve 100 of 16 slots. 1,590 + 20 - 1 = 1,609 slots are 101 blocks; 1,590 + 11 - 1 = 1,600 are 100.
  const TraceFile trace({{SimTime(0), 1590, 20, ""}, {milliseconds(7), 1590, 11, ""}});
  const serving::RunResult result = run_with(trace, {"kv_cache.budget=101 blocks"});
  const metrics::Summary& s = result.summary;
  CHECK(s.rejected == 1);
  CHECK(s.rejected_by_reason[static_cast<std::size_t>(metrics::RejectReason::never_fits)] == 1);
  CHECK(result.collector.records()[0].outcome == metrics::Outcome::rejected);
  CHECK(result.collector.records()[0].ended == SimTime(0));
  CHECK(s.finished == 1);
  CHECK(s.preemptions == 0);
  CHECK(share(s, MemoryState::live).peak_share == 1);
}

TEST_CASE("two requests that outgrow the pool together cost one preemption") {
  // 100 usable blocks. Both prompts of 800 take 50 blocks, and each of the two writes 800 + 400 - 1 slots, 75 blocks.
  // Step 1 (0 to 10 ms) computes both prompts. In step 2 the first needs block 51 and the second is preempted. The
  // first decodes alone to its 400th token, at 4,000 ms; then step 401 computes 801 tokens of the second again, 800 of
  // which it had, and it ends 398 steps later.
  const TraceFile trace({{SimTime(0), 800, 400, ""}, {SimTime(0), 800, 400, ""}});
  const serving::RunResult result = run_with(trace, {"kv_cache.budget=101 blocks"});
  const metrics::Summary& s = result.summary;
  CHECK(s.finished == 2);
  CHECK(s.preemptions == 1);
  CHECK(s.preempted_requests == 1);
  CHECK(s.recomputed_tokens == 800);
  CHECK(s.computed_tokens == 2 * 1199 + 800);
  CHECK(s.steps == 400 + 399);

  const metrics::RequestRecord& first = result.collector.records()[0];
  const metrics::RequestRecord& second = result.collector.records()[1];
  CHECK(first.ended == milliseconds(4000));
  CHECK(first.preemptions == 0);
  CHECK(second.admitted == SimTime(0));
  CHECK(second.first_token == milliseconds(10));
  CHECK(second.stall == milliseconds(4010 - 10));
  CHECK(second.ended == milliseconds(7990));
  CHECK(*s.itl.max_s == seconds(4000));  // from the second's first token to its second
}

TEST_CASE("memory kept free at admission, or one block less, and nothing is preempted") {
  // Either way the second prompt's 50 blocks cannot be taken beside the first's, so that it waits for the first's end:
  // 400 steps each, one after the other.
  const TraceFile trace({{SimTime(0), 800, 400, ""}, {SimTime(0), 800, 400, ""}});
  const Sets fewer{"kv_cache.budget=100 blocks"};
  const Sets watermark{"kv_cache.budget=101 blocks", "admission.watermark=1 blocks"};
  for (const Sets& sets : {fewer, watermark}) {
    const serving::RunResult result = run_with(trace, sets);
    CHECK(result.summary.finished == 2);
    CHECK(result.summary.preemptions == 0);
    CHECK(result.summary.max_running == 1);
    CHECK(result.collector.records()[1].admitted == milliseconds(4000));
    CHECK(result.collector.records()[1].ended == milliseconds(8000));
  }
}

TEST_CASE("a stall lasts over a second preemption, until all is regained") {
  // 10 usable blocks of 16, chunks of 16. A: 16 in, 60 out. B: 48 in, 48 out. After step k A has computed 15 + k
  // tokens, and B, whose prompt takes three steps, 45 + k.
  //   step 50   A's 65th token needs block 5, beside B's 6: B, with 94 tokens computed and 47 generated, has to go
  //   51 to 55  B computes 80 tokens again, in 5 blocks
  //   56        B's last 15 need block 6, beside A's 5: B itself has to go, with less than it had
  //   57 to 60  B computes 64 again; A ends
  //   61, 62    16 and 15 more: B has its 94 again, computes the 95th and generates its 48th, the last
  const TraceFile trace({{SimTime(0), 16, 60, ""}, {SimTime(0), 48, 48, ""}});
  const serving::RunResult result =
      run_with(trace, {"kv_cache.budget=11 blocks", "engine.long_prefill_token_threshold=16"});
  const metrics::RequestRecord& a = result.collector.records()[0];
  const metrics::RequestRecord& b = result.collector.records()[1];
  CHECK(a.preemptions == 0);
  CHECK(a.ended == milliseconds(600));
  CHECK(b.first_token == milliseconds(30));
  CHECK(b.preemptions == 2);
  CHECK(b.stall == milliseconds(620 - 490));
  CHECK(b.recomputed_tokens == 80 + 94);
  CHECK(b.ended == milliseconds(620));
  CHECK(result.summary.computed_tokens == 75 + 95 + 174);
  CHECK(result.summary.preempted_requests == 1);
  CHECK(*result.summary.itl.max_s == seconds(130));
}

TEST_CASE("an urgent request overtakes a head that memory holds up") {
  // 10 usable blocks. A holds 6 of them from its first decode on, and ends at 500 ms; B needs 6 and waits. C comes at
  // 55 ms, needs one, and is more urgent: it is served in the step from 60 to 70.
  const TraceFile trace({{SimTime(0), 80, 50, ",1"}, {milliseconds(5), 96, 2, ",1"}, {milliseconds(55), 10, 1, ",0"}},
                        ",priority");
  const auto ended = [&](const char* order) {
    const serving::RunResult result =
        run_with(trace, {"kv_cache.budget=11 blocks", fmt::format("engine.queue_order={}", order)});
    CHECK(result.collector.records()[0].ended == milliseconds(500));
    CHECK(result.collector.records()[1].admitted == milliseconds(500));
    return result.collector.records()[2].ended;
  };
  CHECK(ended("priority") == milliseconds(70));
  CHECK(ended("fcfs") == milliseconds(510));
}

TEST_CASE("a block that a running request fills lets in the head that shares it") {
  // 5 usable blocks of 16 with a prefix cache. R: 16 in, 40 out. H, of the same session, says all that again: 80 in, 5
  // blocks less those of R that are full. While R fills a block the two need 6 together. In step 17, at 160 ms, R's
  // 32nd token fills its second block: H shares both, takes the last 3, and ends with that step.
  const TraceFile trace({{SimTime(0), 16, 40, ",1"}, {milliseconds(5), 80, 1, ",1"}}, ",session");
  const serving::RunResult result = run_with(trace, {"kv_cache.budget=6 blocks", "prefix_cache.enable=true"});
  const metrics::RequestRecord& head = result.collector.records()[1];
  CHECK(head.admitted == milliseconds(160));
  CHECK(head.ended == milliseconds(170));
  CHECK(result.collector.records()[0].ended == milliseconds(400));
  CHECK(result.summary.preemptions == 0);
  CHECK(result.summary.prefix_cache.hit_tokens == 32);
  CHECK(result.summary.computed_tokens == 55 + 80 - 32);
}

TEST_CASE("memory in pieces is external while it is refused, and free again when the refused one leaves") {
  // An arena of 100 slots, first-fit, exact regions. A, B and C hold 30 each; A ends at 100 ms and leaves holes of 30
  // and
  // 10. D comes at 105 and needs 35: from 110 on, when a step looks at it, the 40 are external. Its client leaves at
  // 145, in the step that ends at 150. B and C end at 300.
  const TraceFile trace(
      {{SimTime(0), 21, 10, ""}, {SimTime(0), 1, 30, ""}, {SimTime(0), 1, 30, ""}, {milliseconds(105), 26, 10, ""}});
  const Sets arena{"kv_cache.strategy=contiguous", "kv_cache.reservation=oracle", "kv_cache.placement=first_fit",
                   "kv_cache.budget=100 tokens"};
  Sets impatient = arena;
  impatient.emplace_back("admission.abandon_after=40 ms");
  const metrics::Summary leaves = run_with(trace, impatient).summary;
  CHECK(leaves.timed_out == 1);
  CHECK(leaves.refused_although_free == 1);
  CHECK(leaves.makespan_s == seconds(300));
  CHECK(share(leaves, MemoryState::external).mean_share == Approx(0.4 * 40 / 300).epsilon(1e-14));
  CHECK(share(leaves, MemoryState::external).peak_share == 0.4);

  // It stays: external until the arena is whole.
  const metrics::Summary stays = run_with(trace, arena).summary;
  CHECK(stays.finished == 4);
  CHECK(stays.refused_although_free == 1);
  CHECK(stays.makespan_s == seconds(400));
  CHECK(share(stays, MemoryState::external).mean_share == Approx(0.4 * 190 / 400).epsilon(1e-14));
}

TEST_CASE("a chunk after a chunk: the token budget cuts a prompt") {
  // 100 tokens in steps of 32: 32 + 32 + 32 + 4, so that the first token comes with the fourth step. With a threshold
  // of 20 it is 5 x 20.
  const TraceFile trace({{SimTime(0), 100, 1, ""}});
  const Sets budget{"engine.max_num_batched_tokens=32", "engine.max_num_seqs=8", "kv_cache.budget=1000 tokens"};
  CHECK(run_with(trace, budget).collector.records()[0].ended == milliseconds(40));
  Sets threshold = budget;
  threshold.emplace_back("engine.long_prefill_token_threshold=20");
  CHECK(run_with(trace, threshold).collector.records()[0].ended == milliseconds(50));
  // The baseline scheduler knows no chunks.
  Sets whole = budget;
  whole.emplace_back("engine.scheduler=orca");
  CHECK(run_with(trace, whole).collector.records()[0].ended == milliseconds(10));
}

TEST_CASE("one seat and equal lengths: the queue M/D/1") {
  // One seat serves one request after the other, each for exactly D = 7 steps of 10 ms: the step that computes the
  // prompt also brings the first token. Nobody waits for a step to end without the seat being taken for all of it, and
  // an idle engine starts its step with the arrival, so that no correction for step boundaries is needed. Poisson
  // arrivals at 10 req/s: load r = 10/s x 70 ms = 0.7, mean wait r D / (2 (1 - r)) = 81.67 ms (Pollaczek, Khinchin).
  constexpr std::int64_t kRequests = 200'000;
  constexpr SimTime kService = milliseconds(70);
  const std::string yaml = fmt::format(
      "model: llama-3-8b\n"
      "hardware: {{gpu: a100-80gb-sxm}}\n"
      "workload:\n"
      "  generate:\n"
      "    requests: {}\n"
      "    arrivals: {{process: poisson, rate: 10 req/s}}\n"
      "    prompt_tokens: {{distribution: constant, value: 100}}\n"
      "    output_tokens: {{distribution: constant, value: 7}}\n"
      "engine: {{max_num_seqs: 1}}\n"
      "cost: {{model: fixed, step: 10 ms}}\n",
      kRequests);
  const scenario::Document scenario = parsed(yaml);
  const serving::RunResult result = serving::run(scenario, config_folder());
  REQUIRE(broken_laws(result, scenario) == std::vector<std::string>{});

  // Request by request: w(k + 1) = max(0, w(k) + D - gap(k)) (Lindley, 1952).
  const auto& records = result.collector.records();
  REQUIRE(records.size() == kRequests);
  SimTime wait;
  std::int64_t different = 0;
  for (std::size_t k = 0; k < records.size(); ++k) {
    if (k > 0) wait = std::max(SimTime(0), wait + kService - (records[k].arrival - records[k - 1].arrival));
    different += records[k].admitted - records[k].arrival == wait ? 0 : 1;
  }
  CHECK(different == 0);

  // 40 batches of 5,000 requests are independent enough: +- 3.5 standard errors hold 99.9 %.
  constexpr std::size_t kBatches = 40;
  constexpr std::size_t kBatch = kRequests / kBatches;
  std::array<double, kBatches> means{};
  for (std::size_t k = 0; k < records.size(); ++k) {
    means[k / kBatch] += to_seconds(records[k].admitted - records[k].arrival) / static_cast<double>(kBatch);
  }
  double mean = 0;
  for (const double m : means) mean += m / kBatches;
  double squares = 0;
  for (const double m : means) squares += (m - mean) * (m - mean);
  const double error = std::sqrt(squares / (kBatches - 1) / kBatches);
  const double expected = 0.7 * 0.07 / (2 * (1 - 0.7));
  CAPTURE(mean, error, expected);
  CHECK(*result.summary.admission.mean_s == Approx(mean).epsilon(1e-9));
  CHECK(std::abs(mean - expected) < 3.5 * error);
  CHECK(error < 0.05 * expected);
}

TEST_CASE("a sequence of vllm-v0 may grow one token beyond max_model_len, and what is promised counts it") {
  // A prompt of 20 under max_model_len 33 grows to 34 tokens, of which 33 are written: three blocks of 16. Under 31 it
  // has 12 tokens of output, not 11.
  const auto run_v0 = [](std::int64_t max_model_len, std::int64_t blocks) {
    const TraceFile trace({{SimTime(0), 20, 100, ""}});
    return run_with(trace, {"engine.scheduler=vllm-v0", fmt::format("engine.max_model_len={}", max_model_len),
                            fmt::format("kv_cache.budget={} blocks", blocks), "engine.max_num_seqs=1"})
        .summary;
  };
  CHECK(run_v0(33, 2).rejected_by_reason[static_cast<std::size_t>(metrics::RejectReason::never_fits)] == 1);
  CHECK(run_v0(33, 4).output_tokens == 14);
  CHECK(run_v0(31, 4).output_tokens == 12);
}
