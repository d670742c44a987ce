#include "sim/report/summary_text.h"

#include <catch2/catch.hpp>

#include "sim/report/text_table.h"
#include "tests/report/example_summary.h"
#include "tests/report/lines.h"

namespace blockyard::report {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr const char* kScreen = R"(
chat-on-a100: llama-3-8b on 2 x a100-80gb-sxm, seed 7

requests    19,366 arrived = 19,300 finished + 41 rejected (1 prompt_too_long, 40 queue_full) + 5
            timed out + 20 unfinished
tokens      22,361,001 prompt, 4,087,100 output; 26,440,000 computed, 12,345 of them again (<0.1 %)
prefix hits 300 of 400 prompt tokens, 75.0 %; 20 of 20 by resumed requests
makespan    3,512 s (58 min 32 s) in 181,233 steps
throughput  5.495 requests/s, 1,164 output tokens/s
goodput     5.125 requests/s: 18,000 requests, 92.9 % of all, met TTFT <= 1 s, TPOT <= 50 ms
misses      TTFT 1,000 (800 alone), TPOT 500 (300 alone); 66 not finished
  throughput: finished requests, and all output tokens, over the makespan (first arrival to last
  event). goodput: finished requests that meet every limit; one-token outputs meet any TPOT. misses:
  finished requests beyond a limit (alone: beyond no other), and those not finished.

latency      unit     values   mean     p50    p90    p99    max
  admission  ms       19,300  12.35  0.2000  30.10  250.0  1,750
  TTFT       ms       19,300  187.5   125.0  375.0  875.0  2,500
  TPOT       ms       19,200  25.00   24.50  31.20  45.50  100.0
  ITL        ms    4,067,800  24.75   24.00  30.00  50.00  2,750
  E2E        s        19,300  5.500   4.250  11.50  19.75  42.00
  E2E/token  ms       19,300  30.00   27.50  45.00  72.50  625.0
  stall      ms            8  437.5   375.0  750.0  937.5  1,000
  latencies of finished requests: admission = first entry into the batch - arrival; TTFT = first
  output token - arrival; TPOT = (last - first output token) / (outputs - 1), none for one-token
  outputs; E2E = last output token - arrival; E2E/token = E2E / outputs. ITL: every gap between
  consecutive output tokens of all requests, pooled; its quantiles are within 0.05 %, the others
  exact (linear between order statistics).
  stall: from each preemption until the computed length is regained, summed over a preempted
  request's life. waiting: without a seat; restoring: the rest, copied back or computed again.
  Warning: p99 of fewer than 100 values lies between the two largest and says little: stall_s 8.

where time went         unit   mean    p99    share
  queue_kv_memory_head  s     1.100  8.250   20.0 %
  decode_own            s     4.400  15.50   80.0 %
  E2E                   s     5.500  19.75  100.0 %
of 5 timed out
  step_boundary         ms    30.00  62.50    0.1 %
  queue_seat_behind     s     29.97  30.00   99.9 %
  until they left       s     30.00      -  100.0 %
  where time went: of finished requests; the means add up to that of E2E. queue: not admitted, by
  what kept the head of the line out in each step: no seat; a full token budget (of running
  requests, of prompts, of what is computed again after a preemption); no KV memory. head: as the
  head itself; behind: behind it, charged with the head's cause, whatever would have kept this one
  out. prefill until the first token, decode after it, each split into own (the step without others'
  work; batch-mates' decodes count as own), overhead of a step and interference; skipped: running,
  without a token in a step; preempted: stalls.

batch       running: mean 30.25, at most 64; waiting: mean 0.06780, at most 11
preemption  12 preemptions of 8 requests, 2 by swap
stalls      10 (preempted again before it is over, it is one), 0.002447 for 1,000 output tokens;
            3.500 s in all: 1.250 s waiting, 2.250 s restoring
token gaps  17 of 4,067,800 longer than 250 ms
swap        4.883 KiB out to the host in 5 blocks, 3.906 KiB back in 4
host link   busy 25.0 % of the time out (62.5 % of its busiest 1 s), 18.8 % back (50.0 %); the
            engine waited 437.5 ms for it
host pool   7.812 KiB: live 12.5 % on average, 62.5 % at its peak

memory: 60.00 GiB for KV     mean    GiB         peak    GiB
  live                     50.0 %  30.00       87.5 %  52.50
  reserved                  1.6 %   0.94        3.1 %   1.88
  tail                     <0.1 %   0.01        0.1 %   0.06
  free                     48.4 %  29.05
  all states              100.0 %  60.00
  largest free region      25.0 %  15.00  least 6.2 %   3.75
  1,234 admissions refused although enough memory was free
  shares of the KV pool, means weighted by time. live: tokens with an owner; cached: known content,
  no owner; reserved: held for tokens the request will write; over_reserved: held beyond its true
  end; tail: unfilled slots of the last block; padding: rounding of the placement; external: free,
  but in pieces too small for the head of the queue; free: the rest. Largest free region: what one
  request could get; it counts cached blocks, which make room.

constants   roofline, constants of a100-80gb-sxm: whole-layer times within 6 % (MAPE)
note        trace: 3 rows of zero length dropped
)";

TEST_CASE("the screen of a run") { CHECK("\n" + print_summary(example_summary()) == kScreen); }

// Beside the screen above, so that it cannot hold a slip for truth.
TEST_CASE("the example obeys the laws of a summary") {
  const metrics::Summary s = example_summary();
  CHECK(s.arrived == s.finished + s.rejected + s.timed_out + s.unfinished);
  double shares = 0;
  for (const metrics::MemoryShare& m : s.memory) {
    shares += m.mean_share;
    CHECK(m.mean_share <= m.peak_share);
  }
  CHECK(shares == Approx(1).epsilon(1e-12));
  CHECK(*s.goodput_requests_per_s * s.makespan_s == Approx(static_cast<double>(*s.good_requests)).epsilon(1e-5));
  CHECK(s.requests_per_s * s.makespan_s == Approx(static_cast<double>(s.finished)).epsilon(1e-5));
  // 800 + 300 are beyond one limit; those beyond two are counted twice.
  const auto& limits = s.misses->limits;
  const std::int64_t both = (limits[0].requests - limits[0].alone + limits[1].requests - limits[1].alone) / 2;
  CHECK(*s.good_requests + limits[0].alone + limits[1].alone + both + s.misses->not_finished == s.arrived);
  for (const metrics::TimeUses* uses : {&s.time, &s.time_timed_out}) {
    double share_of_time = 0;
    for (const metrics::TimeUse& use : uses->buckets) share_of_time += use.share;
    CHECK(share_of_time == Approx(1));
  }
}

TEST_CASE("the states on the screen add up to all of the memory") {
  double shares = 0;
  double gibibytes = 0;
  int states = 0;
  for (const std::string& line : lines_of(print_summary(example_summary()))) {
    for (const char* state : kMemoryStateNames) {
      if (!line.starts_with("  " + std::string(state) + "  ")) continue;
      // "  live      50.0 %  30.00  ...": after the name a share, a per cent sign, gibibytes.
      std::vector<std::string> words;
      for (const std::string& word : split(line, ' ')) {
        if (!word.empty()) words.push_back(word);
      }
      if (words.at(1) != "<0.1") shares += std::stod(words.at(1));
      gibibytes += std::stod(words.at(3));
      ++states;
    }
  }
  CHECK(states == 4);  // the others hold nothing
  CHECK(shares == Approx(100).margin(0.2));
  CHECK(gibibytes == Approx(60).margin(0.02));
}

TEST_CASE("no line is longer than the screen is wide, however long the names and reasons") {
  metrics::Summary s = example_summary();
  s.identity.notes.push_back(std::string("a note of many words ") + std::string(40, 'x') + " and " +
                             std::string(60, 'y') + " and so on and so forth");
  s.stuck =
      "no progress for 10000 steps: 3 running, 17 waiting, none of whom can be given the memory that they need, "
      "whatever is taken from the others";
  s.interrupted = true;
  for (const std::string& line : lines_of(print_summary(s))) {
    INFO(line);
    CHECK(characters(line) <= 100);
    CHECK_FALSE(line.ends_with(' '));
  }
}

TEST_CASE("an early end is told before anything else") {
  metrics::Summary s = example_summary();
  s.interrupted = true;
  CHECK(print_summary(s).starts_with("INTERRUPTED: "));
  s.interrupted = false;
  s.stuck = "no progress";
  CHECK(print_summary(s).starts_with("STOPPED: no progress\n"));
}

TEST_CASE("what does not apply is left out") {
  metrics::Summary s = example_summary();
  CHECK(contains(print_summary(s), "\ngoodput "));
  CHECK(contains(print_summary(s), "\nprefix hits "));
  CHECK(contains(print_summary(s), "\nswap "));
  s.slo = {};
  s.good_requests = std::nullopt;
  s.goodput_requests_per_s = std::nullopt;
  s.prefix_cache = {};
  s.preemptions = s.preempted_requests = 0;
  s.stall = {};
  s.swap = {};
  const std::string text = print_summary(s);
  CHECK_FALSE(contains(text, "\ngoodput "));
  CHECK_FALSE(contains(text, "\nprefix hits "));
  CHECK_FALSE(contains(text, "\nswap "));
  CHECK_FALSE(contains(text, "\nmisses "));
  CHECK(contains(text, "preemption  none\ntoken gaps  17 of "));
  s.itl = {};
  CHECK_FALSE(contains(print_summary(s), "\ntoken gaps "));
  s.time_timed_out = {};
  CHECK_FALSE(contains(print_summary(s), "\nof 5 timed out"));
}

TEST_CASE("misses are told for the limits there are, and what is missed alone where there are several") {
  metrics::Summary s = example_summary();
  s.slo.e2e = SimTime(60'000'000'000);
  CHECK(contains(print_summary(s), "\nmisses      TTFT 1,000 (800 alone), TPOT 500 (300 alone), E2E 0; 66 not"));
  s.slo = {};
  s.slo.tpot = SimTime(50'000'000);
  s.misses = {{{{0, 0}, {500, 500}, {0, 0}}}, 66};
  CHECK(contains(print_summary(s), "\nmisses      TPOT 500; 66 not finished\n"));
}

TEST_CASE("each row of the time ledger has the unit of its mean") {
  metrics::Summary s = example_summary();
  s.time.buckets[static_cast<std::size_t>(metrics::TimeBucket::step_boundary)] = {0.0087, 0.0154, 0.0016};
  s.time.buckets[static_cast<std::size_t>(metrics::TimeBucket::front_end)] = {0.00004, 0.0002, 0.0001};
  const std::string text = print_summary(s);
  CHECK(contains(text, "\n  front_end             us    40.00  200.0   <0.1 %\n"));
  CHECK(contains(text, "\n  step_boundary         ms    8.700  15.40    0.2 %\n"));
}

TEST_CASE("stalls as many as preemptions need no explanation") {
  metrics::Summary s = example_summary();
  s.preemptions = s.each_stall.count;
  CHECK(contains(print_summary(s), "\nstalls      10, 0.002447 for"));
}

TEST_CASE("a run without requests or memory has a screen without numbers that are none") {
  const std::string text = print_summary(metrics::Summary{});
  CHECK_FALSE(contains(text, "nan"));
  CHECK_FALSE(contains(text, "inf"));
  CHECK(contains(text, "requests    0 arrived = 0 finished"));
}

}  // namespace
}  // namespace blockyard::report
