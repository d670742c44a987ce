// Eviction policies in whole runs: the ledger of the prefix cache, and what each policy may and may not change.
#include <catch2/catch.hpp>

#include "sim/kv/eviction/policies.h"
#include "tests/serving/laws.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

// Sessions of growing prompts and one-shot prompts in turn, on a pool that holds few of them.
std::vector<Row> sessions_and_scans() {
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < 120; ++i) {
    const std::int64_t session = 1 + i % 4;
    const bool scan = i % 3 == 2;
    rows.push_back({milliseconds(25 * i), scan ? 90 : 40 + 6 * (i / 12), 5, fmt::format(",{}", scan ? 0 : session)});
  }
  return rows;
}

const Sets kShort{"kv_cache.budget=30 blocks", "kv_cache.block_size=8", "engine.max_model_len=200",
                  "prefix_cache.enable=true", "engine.max_num_seqs=4"};

serving::RunResult run_with(const TraceFile& trace, const std::string& eviction, const Sets& more = {}) {
  Sets sets = kShort;
  sets.push_back("prefix_cache.eviction=" + eviction);
  sets.insert(sets.end(), more.begin(), more.end());
  return run(small_engine(trace), sets);
}

}  // namespace

TEST_CASE("eviction: every policy serves everybody, and its ledger agrees with what the schedulers found") {
  const TraceFile trace(sessions_and_scans(), ",session");
  for (const kv::EvictionRow& row : kv::eviction_policies()) {
    INFO(row.name);
    const metrics::Summary s = run_with(trace, row.name, {"cost.model=roofline"}).summary;
    CHECK(s.finished == 120);
    REQUIRE(s.prefix_cache_work.has_value());
    const metrics::PrefixCacheWork& work = *s.prefix_cache_work;
    CHECK(work.hit_tokens() == s.prefix_cache.hit_tokens);
    CHECK(work.ledger.requests == 120);
    CHECK(work.ledger.requests_hit <= 120);
    CHECK(work.ledger.evicted_blocks > 0);
    CHECK(work.ledger.hit_tokens[static_cast<std::size_t>(HitCause::own_session)] > 0);
    CHECK(work.ledger.hit_tokens[static_cast<std::size_t>(HitCause::other_request)] == 0);
    CHECK(work.saved_prefill_s > 0);
  }
}

TEST_CASE("eviction: walking every step gives the same bytes under every policy") {
  const TraceFile trace(sessions_and_scans(), ",session");
  for (const kv::EvictionRow& row : kv::eviction_policies()) {
    INFO(row.name);
    CHECK(files_of(run_with(trace, row.name)) == files_of(run_with(trace, row.name, {"engine.fast_forward=false"})));
  }
}

TEST_CASE("eviction: where everything fits, no policy changes anything") {
  const TraceFile trace(sessions_and_scans(), ",session");
  const std::string lru = requests_csv(run_with(trace, "lru", {"kv_cache.budget=5000 blocks"}).collector);
  for (const kv::EvictionRow& row : kv::eviction_policies()) {
    INFO(row.name);
    CHECK(requests_csv(run_with(trace, row.name, {"kv_cache.budget=5000 blocks"}).collector) == lru);
  }
}

TEST_CASE("eviction: opt finds at least what lru does, and says whose future it knew") {
  const TraceFile trace(sessions_and_scans(), ",session");
  const metrics::Summary lru = run_with(trace, "lru").summary;
  const metrics::Summary opt = run_with(trace, "opt").summary;
  CHECK(opt.prefix_cache.hit_tokens > lru.prefix_cache.hit_tokens);
  const auto says = [](const std::string& note) { return note.find("first run with lru") != std::string::npos; };
  CHECK(std::ranges::any_of(opt.identity.notes, says));
  CHECK(std::ranges::none_of(lru.identity.notes, says));
}

TEST_CASE("eviction: under ttl idle blocks are gone after their time, though there is room") {
  // The same prompt at 0 s, 1 s and 3 s; blocks stay 1.5 s.
  const TraceFile trace(
      {{milliseconds(0), 64, 1, ",7"}, {milliseconds(1000), 64, 1, ",7"}, {milliseconds(3000), 64, 1, ",7"}},
      ",session");
  const Sets roomy{"kv_cache.budget=100 blocks", "prefix_cache.ttl=1.5 s"};
  const metrics::Summary s = run_with(trace, "ttl", roomy).summary;
  CHECK(s.prefix_cache.hit_tokens == 56);  // 7 of 8 blocks: never the last token; and nothing the third time
  CHECK(s.prefix_cache_work->ledger.evicted_blocks >= 8);
  CHECK(run_with(trace, "lru", roomy).summary.prefix_cache.hit_tokens == 112);
}

TEST_CASE("eviction: an engine with an order of its own takes no other") {
  const TraceFile trace(sessions_and_scans(), ",session");
  try {
    static_cast<void>(run_with(trace, "sieve", {"engine.scheduler=vllm-v0"}));
    FAIL("it ran");
  } catch (const InputError& error) {
    CHECK(std::string(error.what()).find("prefix_cache.eviction: vllm-v0 has an order of its own") !=
          std::string::npos);
  }
}
