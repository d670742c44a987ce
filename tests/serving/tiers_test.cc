// Tiers below the GPU in whole runs.
#include <catch2/catch.hpp>

#include "tests/serving/laws.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

// 29 usable blocks of 8 tokens; a block of llama-3-8b is 1 MiB of KV.
const Sets kShort{"kv_cache.budget=30 blocks", "kv_cache.block_size=8", "engine.max_model_len=200",
                  "prefix_cache.enable=true", "engine.max_num_seqs=4"};

Sets with(const Sets& more) {
  Sets sets = kShort;
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

// Conversations that grow, more of them than the pool holds.
TraceFile conversations() {
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < 120; ++i) {
    rows.push_back({milliseconds(23 * i), 40 + 7 * (i / 12), 5, fmt::format(",{}", 1 + i % 6)});
  }
  return TraceFile(rows, ",session");
}

metrics::Summary summary_of(const TraceFile& trace, const Sets& more) {
  return run(small_engine(trace), with(more)).summary;
}
std::int64_t from_below(const metrics::Summary& s) {
  return s.prefix_cache_work->ledger.hit_tokens[static_cast<std::size_t>(HitCause::host_tier)];
}

}  // namespace

TEST_CASE("tiers: walking every step gives the same bytes, and the laws hold") {
  const TraceFile trace = conversations();
  const std::vector<Sets> tiers{
      {"prefix_cache.tiers.host.size=64 MiB"},
      {"prefix_cache.tiers.host.size=20 MiB", "prefix_cache.tiers.host.write=on_eviction",
       "hardware.links.host.bandwidth=1 GB/s"},
      {"prefix_cache.tiers.host.size=20 MiB", "prefix_cache.tiers.host.write=write_back",
       "prefix_cache.tiers.host.eviction=sieve", "prefix_cache.tiers.load=always",
       "hardware.links.host.bandwidth=100 MB/s"},
      {"prefix_cache.tiers.host.size=16 MiB", "prefix_cache.tiers.nvme.size=64 MiB",
       "prefix_cache.tiers.prefetch=on_arrival", "prefix_cache.tiers.load=always"},
      {"prefix_cache.tiers.remote.size=1 GiB", "prefix_cache.tiers.remote.write=write_through",
       "prefix_cache.tiers.load=always", "prefix_cache.admission=second_hit", "hardware.links.host.shared=true"},
      {"prefix_cache.tiers.host.size=64 MiB", "prefix_cache.tiers.load=always",
       "hardware.links.host.bandwidth=100 MB/s", "preemption.victim=largest", "kv_cache.budget=24 blocks"},
      {"prefix_cache.tiers.host.size=64 MiB", "prefix_cache.tiers.load=always", "hardware.links.host.bandwidth=30 MB/s",
       "kv_cache.budget=22 blocks", "engine.queue_order=priority"},
      {"prefix_cache.tiers.host.size=64 MiB", "prefix_cache.tiers.host.write=on_eviction", "prefix_cache.eviction=ttl",
       "prefix_cache.ttl=100 ms", "hardware.links.host.bandwidth=1 GB/s"},
      {"prefix_cache.tiers.host.size=64 MiB", "prefix_cache.tiers.host.write=on_eviction", "prefix_cache.quota=0.2",
       "hardware.links.host.bandwidth=1 GB/s", "prefix_cache.tiers.load=always"},
      {"prefix_cache.tiers.host.size=20 MiB", "prefix_cache.tiers.load=always", "workload.n=2",
       "hardware.links.host.bandwidth=1 GB/s"},
  };
  const serving::RunControl series{.go_on = {}, .time_series = true};
  for (const Sets& some : tiers) {
    INFO(fmt::format("{}", fmt::join(some, ", ")));
    const scenario::Document scenario = parsed(small_engine(trace), with(some));
    const serving::RunResult result = serving::run(scenario, config_folder(), series);
    CHECK(broken_laws(result, scenario) == std::vector<std::string>{});
    CHECK(result.summary.finished == 120);
    CHECK(result.summary.prefix_cache_work->hit_tokens() == result.summary.prefix_cache.hit_tokens);
    Sets walked = some;
    walked.emplace_back("engine.fast_forward=false");
    CHECK(files_of(run(small_engine(trace), with(walked), series)) == files_of(result));
  }
}

TEST_CASE("tiers: what the GPU had to give up is found in the host tier") {
  const TraceFile trace = conversations();
  const metrics::Summary without = summary_of(trace, {});
  for (const char* write : {"write_through", "write_back", "on_eviction"}) {
    INFO(write);
    const metrics::Summary s =
        summary_of(trace, {"prefix_cache.tiers.host.size=10 GiB", "prefix_cache.tiers.load=always",
                           std::string("prefix_cache.tiers.host.write=") + write});
    CHECK(from_below(s) > 0);
    CHECK(s.prefix_cache.hit_tokens > without.prefix_cache.hit_tokens);
    REQUIRE(s.prefix_cache_work->ledger.tiers.size() == 1);
    const TierLedger& host = s.prefix_cache_work->ledger.tiers[0];
    CHECK(host.hit_tokens == from_below(s));
    CHECK(8 * host.read_blocks == host.hit_tokens);
    CHECK(host.evicted_blocks == 0);
    CHECK(host.used_blocks == host.written_blocks);
  }
  CHECK(from_below(without) == 0);
  CHECK(without.prefix_cache_work->ledger.tiers.empty());
}

TEST_CASE("tiers: a tier of no size is none") {
  const TraceFile trace = conversations();
  const metrics::Summary without =
      summary_of(trace, {"prefix_cache.quota=1"});  // by the same way, without the queue's order
  const metrics::Summary empty = summary_of(trace, {"prefix_cache.tiers.host.size=0 B"});
  CHECK(empty.prefix_cache_work->ledger.tiers.empty());
  CHECK(empty.prefix_cache.hit_tokens == without.prefix_cache.hit_tokens);
  CHECK(empty.makespan_s == without.makespan_s);
}

TEST_CASE("tiers: who fetches runs when its blocks have arrived") {
  // A says 64 tokens; B takes all 29 blocks, so that A's are gone; A' says the same as A: 7 blocks of 1 MiB over
  // 200 MiB/s take 35 ms, and its last block is computed in a step of 10 ms.
  const TraceFile trace(
      {{milliseconds(0), 64, 1, ",1"}, {milliseconds(200), 190, 1, ",0"}, {milliseconds(900), 64, 1, ",1"}},
      ",session");
  const Sets slow{"hardware.links.host.bandwidth=200 MiB/s", "hardware.links.host.latency=0 s",
                  "hardware.links.host.copy_overhead=0 s", "prefix_cache.tiers.host.size=1 GiB",
                  "kv_cache.budget=25 blocks"};
  Sets always = slow;
  always.emplace_back("prefix_cache.tiers.load=always");
  const serving::RunResult fetched = run(small_engine(trace), with(always));
  const metrics::RequestRecord& last = fetched.collector.records()[2];
  CHECK(last.first_token - last.arrival == milliseconds(45));
  CHECK(from_below(fetched.summary) == 56);
  // Computing all takes 10 ms.
  const serving::RunResult computed = run(small_engine(trace), with(slow));
  const metrics::RequestRecord& again = computed.collector.records()[2];
  CHECK(again.first_token - again.arrival == milliseconds(10));
  CHECK(from_below(computed.summary) == 0);
  CHECK(computed.summary.prefix_cache_work->ledger.computed_instead_tokens == 56);
}

TEST_CASE("tiers: an engine that has nothing to do but wait for a fetch does so in one step") {
  // As above; B2 decodes beside the fetch at first, and has ended long before it has.
  const TraceFile trace({{milliseconds(0), 64, 1, ",1"},
                         {milliseconds(200), 190, 1, ",0"},
                         {milliseconds(895), 8, 3, ",0"},
                         {milliseconds(900), 64, 1, ",1"}},
                        ",session");
  const Sets slow{"hardware.links.host.bandwidth=200 MiB/s", "hardware.links.host.latency=0 s",
                  "hardware.links.host.copy_overhead=0 s",   "prefix_cache.tiers.host.size=1 GiB",
                  "prefix_cache.tiers.load=always",          "kv_cache.budget=25 blocks"};
  const serving::RunResult result = run(small_engine(trace), with(slow));
  CHECK(from_below(result.summary) == 56);
  // It joins when the step from 895 ends, at 905; the other's third token comes at 925; 7 blocks take 35 ms.
  const metrics::RequestRecord& last = result.collector.records()[3];
  CHECK(last.first_token - last.arrival == milliseconds(5 + 35 + 10));
}

TEST_CASE("tiers: of several samples too, who fetches runs when its blocks have arrived") {
  // As above. Output of one token: the samples hold nothing beyond the prompt.
  const TraceFile trace(
      {{milliseconds(0), 64, 1, ",1"}, {milliseconds(200), 190, 1, ",0"}, {milliseconds(900), 64, 1, ",1"}},
      ",session");
  const Sets slow{"hardware.links.host.bandwidth=200 MiB/s",
                  "hardware.links.host.latency=0 s",
                  "hardware.links.host.copy_overhead=0 s",
                  "prefix_cache.tiers.host.size=1 GiB",
                  "prefix_cache.tiers.load=always",
                  "kv_cache.budget=25 blocks",
                  "workload.n=2"};
  const serving::RunResult fetched = run(small_engine(trace), with(slow));
  const metrics::RequestRecord& last = fetched.collector.records()[2];
  CHECK(from_below(fetched.summary) == 56);
  CHECK(last.first_token - last.arrival == milliseconds(45));
}

TEST_CASE("tiers: on eviction the step waits until what it overwrites has been copied") {
  // As above, but A's 8 blocks go when B's prefill takes them: at least those 7 that it needs, 5 ms each.
  const TraceFile trace({{milliseconds(0), 64, 1, ",1"}, {milliseconds(200), 184, 1, ",0"}}, ",session");
  const Sets slow{"hardware.links.host.bandwidth=200 MiB/s",   "hardware.links.host.latency=0 s",
                  "hardware.links.host.copy_overhead=0 s",     "prefix_cache.tiers.host.size=1 GiB",
                  "prefix_cache.tiers.host.write=on_eviction", "kv_cache.budget=25 blocks"};
  const serving::RunResult result = run(small_engine(trace), with(slow));
  const metrics::RequestRecord& second = result.collector.records()[1];
  const std::int64_t evicted = result.summary.prefix_cache_work->ledger.evicted_blocks;
  CHECK(evicted > 0);
  CHECK(second.first_token - second.arrival == milliseconds(10 + 5 * evicted));
  CHECK(result.summary.prefix_cache_work->ledger.waited_for_writes == milliseconds(5 * evicted));
}

TEST_CASE("tiers: a faster link never brings anybody's first token later") {
  const TraceFile trace(
      {{milliseconds(0), 64, 1, ",1"}, {milliseconds(200), 190, 1, ",0"}, {milliseconds(900), 64, 1, ",1"}},
      ",session");
  SimTime before = kNever;
  for (const char* bandwidth : {"20 MB/s", "200 MB/s", "2 GB/s", "20 GB/s"}) {
    const serving::RunResult result =
        run(small_engine(trace),
            with({"prefix_cache.tiers.host.size=1 GiB", "kv_cache.budget=25 blocks", "prefix_cache.tiers.load=always",
                  std::string("hardware.links.host.bandwidth=") + bandwidth}));
    const metrics::RequestRecord& last = result.collector.records()[2];
    CHECK(last.first_token - last.arrival <= before);
    before = last.first_token - last.arrival;
  }
}

TEST_CASE("tiers: what does not go together is told") {
  const TraceFile trace = conversations();
  const auto error_of = [&](const Sets& sets) -> std::string {
    try {
      static_cast<void>(summary_of(trace, sets));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(error_of({"engine.scheduler=vllm-v0", "prefix_cache.tiers.host.size=1 GiB"})
            .find("prefix_cache.tiers: vllm-v0") != std::string::npos);
  CHECK(
      error_of({"prefix_cache.tiers.nvme.size=1 GiB", "prefix_cache.tiers.prefetch=on_arrival"}).find("no host tier") !=
      std::string::npos);
  CHECK(error_of({"prefix_cache.tiers.host.size=1 GiB", "prefix_cache.tiers.host.eviction=opt"}).find("opt works on") !=
        std::string::npos);
  CHECK(error_of({"prefix_cache.tiers.host.size=1048575 B"}).find("a block takes 1048576 B") != std::string::npos);
  CHECK(error_of({"prefix_cache.tiers.host.size=1048576 B"}).empty());
  CHECK(error_of({"prefix_cache.tiers.host.size=100000 TB"}).find("at most 52428800000000 B here") !=
        std::string::npos);
}
