// The queue order longest_prefix: what it finds in the cache that the order of arrival does not, and what it may not
// do.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/serving/laws.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

const Sets kShort{"kv_cache.budget=40 blocks",       "kv_cache.block_size=8", "engine.max_model_len=400",
                  "prefix_cache.enable=true",        "engine.max_num_seqs=3", "engine.queue_order=longest_prefix",
                  "engine.max_num_batched_tokens=64"};

Sets with(const Sets& more) {
  Sets sets = kShort;
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

// Six documents of 120 tokens, asked about in turn and faster than they are answered: the cache holds two of them.
TraceFile documents() {
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < 150; ++i) {
    rows.push_back({milliseconds(5 * i), 120 + i % 7, 1 + i % 5, fmt::format(",{},120", 1 + i % 6)});
  }
  return TraceFile(rows, ",prefix_id,prefix_tokens");
}

std::int64_t hits(const TraceFile& trace, const Sets& more) {
  return run(small_engine(trace), with(more)).summary.prefix_cache.hit_tokens;
}

}  // namespace

TEST_CASE("an order that has nothing to go by, or knows more than an engine would, is noted") {
  const auto note = [](const TraceFile& trace, const Sets& sets, const std::string& words) {
    for (const std::string& line : run(small_engine(trace), sets).summary.identity.notes) {
      if (line.find(words) != std::string::npos) return true;
    }
    return false;
  };
  const TraceFile trace = documents();
  CHECK(note(trace, with({"prefix_cache.enable=false"}), "longest_prefix finds nothing without a prefix cache"));
  CHECK_FALSE(note(trace, with({}), "longest_prefix finds nothing"));
  CHECK(note(trace, with({"engine.queue_order=fair"}), "all requests are of one tenant"));
  CHECK(note(trace, with({"engine.queue_order=srpt"}), "srpt is told the true output lengths"));
  CHECK_FALSE(note(trace, with({"engine.queue_order=srpt", "engine.length_prediction_cv=0.5"}), "is told the true"));
  const TraceFile tenants({{SimTime(0), 10, 3, ",1"}, {SimTime(0), 10, 3, ",2"}}, ",tenant");
  CHECK_FALSE(note(tenants, {"engine.queue_order=fair"}, "one tenant"));
}

TEST_CASE("longest_prefix: requests about what is cached go together, so that more of it is found") {
  const TraceFile trace = documents();
  const std::int64_t by_arrival = hits(trace, {"engine.queue_order=fcfs"});
  const std::int64_t by_prefix = hits(trace, {});
  CHECK(by_prefix > 2 * by_arrival);
  // With a cache that holds all of them there is nothing to gain.
  const Sets roomy{"kv_cache.budget=400 blocks"};
  CHECK(hits(trace, roomy) == hits(trace, {"kv_cache.budget=400 blocks", "engine.queue_order=fcfs"}));
}

TEST_CASE("longest_prefix: walking every step gives the same bytes, and the laws hold") {
  const TraceFile trace = documents();
  const std::vector<Sets> cases{
      {},
      {"engine.max_num_seqs=8", "engine.max_num_batched_tokens=256"},
      {"prefix_cache.eviction=sieve"},
      {"prefix_cache.eviction=ttl", "prefix_cache.ttl=60 ms"},
      {"prefix_cache.enable=false"},
      {"preemption.victim=largest", "kv_cache.budget=25 blocks"},
      {"prefix_cache.tiers.host.size=64 MiB", "hardware.links.host.bandwidth=100 MB/s"},
      {"workload.n=2", "engine.max_num_seqs=6"},
      {"engine.scheduler=orca"},
      {"engine.scheduler=static"},
      {"admission.abandon_after=300 ms"},
  };
  for (const Sets& some : cases) {
    INFO((some.empty() ? "plain" : some.front()));
    Sets walked = some;
    walked.emplace_back("engine.fast_forward=false");
    CHECK(files_of(run(small_engine(trace), with(some))) == files_of(run(small_engine(trace), with(walked))));
    const scenario::Document scenario = parsed(small_engine(trace), with(some));
    const serving::RunResult result = serving::run(scenario, config_folder(), {});
    CHECK(broken_laws(result, scenario) == std::vector<std::string>{});
  }
}

TEST_CASE("longest_prefix: without a prefix cache it is the order of arrival") {
  const TraceFile trace = documents();
  const Sets off{"prefix_cache.enable=false", "kv_cache.budget=400 blocks"};
  Sets by_arrival = off;
  by_arrival.emplace_back("engine.queue_order=fcfs");
  CHECK(requests_csv(run(small_engine(trace), with(off)).collector) ==
        requests_csv(run(small_engine(trace), with(by_arrival)).collector));
}

TEST_CASE("longest_prefix: who shares nothing is overtaken, until more than 128 wait") {
  // One stranger among requests for the one cached document; a seat for one.
  const auto admitted_behind = [](std::int64_t others) {
    std::vector<Row> rows{{milliseconds(0), 121, 1, ",1,120"}, {milliseconds(1), 121, 1, ",2,120"}};
    for (std::int64_t i = 0; i < others; ++i) rows.push_back({milliseconds(2), 121, 1, ",1,120"});
    const TraceFile trace(rows, ",prefix_id,prefix_tokens");
    const serving::RunResult result = run(small_engine(trace), with({"engine.max_num_seqs=1"}));
    const SimTime stranger = result.collector.records()[1].first_token;
    return std::ranges::count_if(result.collector.records(),
                                 [&](const metrics::RequestRecord& r) { return r.first_token < stranger; });
  };
  CHECK(admitted_behind(20) == 21);    // all others go before it
  CHECK(admitted_behind(127) == 128);  // 128 wait
  CHECK(admitted_behind(140) == 1);    // 141 wait: it is the first of them
}
