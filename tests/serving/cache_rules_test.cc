// What is admitted to the prefix cache, pinned in it, left to each tenant, shared, and there from the start.
#include <catch2/catch.hpp>

#include "sim/base/random.h"
#include "sim/kv/eviction/keeping.h"
#include "tests/kv/naive_radix.h"
#include "tests/serving/laws.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

const Sets kShort{"kv_cache.budget=30 blocks", "kv_cache.block_size=8", "engine.max_model_len=200",
                  "prefix_cache.enable=true", "engine.max_num_seqs=4"};

// Four conversations of three tenants that grow, and one-shot prompts between them.
std::vector<Row> tenants_and_scans() {
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < 120; ++i) {
    const bool scan = i % 3 == 2;
    rows.push_back({milliseconds(25 * i), scan ? 90 : 40 + 6 * (i / 12), 5,
                    fmt::format(",{},{}", scan ? 0 : 1 + i % 4, scan ? 9 : 1 + i % 2)});
  }
  return rows;
}
TraceFile mixed() { return TraceFile(tenants_and_scans(), ",session,tenant"); }

Sets with(const Sets& more) {
  Sets sets = kShort;
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}
metrics::Summary summary_of(const TraceFile& trace, const Sets& more) {
  return run(small_engine(trace), with(more)).summary;
}

}  // namespace

TEST_CASE("cache rules: walking every step gives the same bytes") {
  const TraceFile trace = mixed();
  const std::vector<Sets> rules{{"prefix_cache.admission=second_hit"},
                                {"prefix_cache.admission=tinylfu", "prefix_cache.eviction=sieve"},
                                {"prefix_cache.pin=16 tokens"},
                                {"prefix_cache.quota=0.3", "prefix_cache.eviction=s3_fifo"},
                                {"prefix_cache.quota=0.5", "prefix_cache.pin=8", "prefix_cache.admission=second_hit"},
                                {"prefix_cache.salt=tenant"},
                                {"prefix_cache.warm=" + trace.path()}};
  for (const Sets& some : rules) {
    INFO(some.front());
    Sets walked = some;
    walked.emplace_back("engine.fast_forward=false");
    CHECK(files_of(run(small_engine(trace), with(some))) == files_of(run(small_engine(trace), with(walked))));
    const scenario::Document scenario = parsed(small_engine(trace), with(some));
    CHECK(broken_laws(serving::run(scenario, config_folder(), {}), scenario) == std::vector<std::string>{});
  }
}

TEST_CASE("cache rules: second_hit spares conversations from one-shot prompts") {
  const TraceFile trace = mixed();
  const std::int64_t always = summary_of(trace, {}).prefix_cache.hit_tokens;
  CHECK(summary_of(trace, {"prefix_cache.admission=second_hit"}).prefix_cache.hit_tokens > always);
  CHECK(summary_of(trace, {"prefix_cache.admission=always"}).prefix_cache.hit_tokens == always);
}

TEST_CASE("salt: who says the same shares it only within a tenant, or not at all") {
  const TraceFile trace({{milliseconds(0), 64, 1, ",3,64,1"},
                         {milliseconds(100), 64, 1, ",3,64,2"},
                         {milliseconds(200), 64, 1, ",3,64,1"}},
                        ",prefix_id,prefix_tokens,tenant");
  const Sets roomy{"kv_cache.budget=100 blocks"};
  const auto found = [&](const std::string& salt) {
    Sets sets = roomy;
    sets.push_back("prefix_cache.salt=" + salt);
    return summary_of(trace, sets).prefix_cache.hit_tokens;
  };
  CHECK(found("none") == 2 * 56);  // never the last token
  CHECK(found("tenant") == 56);
  CHECK(found("request") == 0);
}

TEST_CASE("warm: what was said before the run is found from its first request on") {
  const TraceFile before({{milliseconds(0), 64, 1, ",3,64"}}, ",prefix_id,prefix_tokens");
  const TraceFile trace({{milliseconds(0), 64, 1, ",3,64"}, {milliseconds(100), 64, 1, ",4,64"}},
                        ",prefix_id,prefix_tokens");
  const Sets roomy{"kv_cache.budget=100 blocks"};
  CHECK(summary_of(trace, roomy).prefix_cache.hit_tokens == 0);
  Sets warm = roomy;
  warm.push_back("prefix_cache.warm=" + before.path());
  const metrics::Summary s = summary_of(trace, warm);
  CHECK(s.prefix_cache.hit_tokens == 56);
  CHECK(s.prefix_cache_work->ledger.evicted_blocks == 0);
  CHECK(s.prefix_cache_work->ledger.requests == 2);
  const auto says = [](const std::string& note) { return note.find("the cache starts with") != std::string::npos; };
  CHECK(std::ranges::any_of(s.identity.notes, says));
}

TEST_CASE("warm: requests of several samples find it too") {
  const TraceFile before({{milliseconds(0), 64, 1, ",3,64"}}, ",prefix_id,prefix_tokens");
  const TraceFile trace({{milliseconds(0), 64, 3, ",3,64"}}, ",prefix_id,prefix_tokens");
  CHECK(summary_of(trace, {"prefix_cache.warm=" + before.path(), "workload.n=2"}).prefix_cache.hit_tokens == 56);
}

TEST_CASE("warm: opt, told what the run will look up, finds no less than lru") {
  const TraceFile trace = mixed();
  const auto found = [&](const char* eviction) {
    return summary_of(trace, {"prefix_cache.warm=" + trace.path(), std::string("prefix_cache.eviction=") + eviction})
        .prefix_cache.hit_tokens;
  };
  CHECK(found("opt") >= found("lru"));
}

TEST_CASE("warm: more than the pool holds leaves the last that was said") {
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < 20; ++i) rows.push_back({milliseconds(i), 64, 1, fmt::format(",{},64", i + 1)});
  const TraceFile before(rows, ",prefix_id,prefix_tokens");
  const TraceFile trace({{milliseconds(0), 64, 1, ",20,64"}, {milliseconds(500), 64, 1, ",1,64"}},
                        ",prefix_id,prefix_tokens");
  for (const char* eviction : {"lru", "sieve", "leaf_lru"}) {
    INFO(eviction);
    const metrics::Summary s =
        summary_of(trace, {"prefix_cache.warm=" + before.path(), std::string("prefix_cache.eviction=") + eviction});
    CHECK(s.prefix_cache.hit_tokens == 56);
  }
}

TEST_CASE("a radix cache: with blocks of one token prompts share to the token, and leaves go first") {
  const TraceFile trace({{milliseconds(0), 64, 1, ",3,61"}, {milliseconds(200), 64, 1, ",3,61"}},
                        ",prefix_id,prefix_tokens");
  const auto found = [&](const Sets& sets) { return summary_of(trace, sets).prefix_cache.hit_tokens; };
  const Sets radix{"kv_cache.block_size=1", "kv_cache.budget=400 blocks", "prefix_cache.eviction=leaf_lru"};
  CHECK(found(radix) == 61);
  CHECK(found({}) == 56);
  Sets walked = radix;
  walked.emplace_back("engine.fast_forward=false");
  const TraceFile many = mixed();
  CHECK(files_of(run(small_engine(many), with(walked))) == files_of(run(small_engine(many), with(radix))));
}

TEST_CASE("a radix cache: request by request it finds what a radix tree does") {
  RandomStream random(3, "radix");
  std::vector<Row> rows;
  std::vector<std::vector<std::int64_t>> said;
  for (std::int64_t i = 0; i < 150; ++i) {
    const std::int64_t prompt = random.integer(1, 60);
    const std::int64_t prefix = random.integer(1, 4);
    const std::int64_t shared = random.integer(0, prompt);
    rows.push_back({milliseconds(200 * i), prompt, 1, fmt::format(",{},{}", prefix, shared)});
    std::vector<std::int64_t>& tokens = said.emplace_back();
    for (std::int64_t k = 0; k < prompt; ++k) tokens.push_back((k < shared ? prefix : 10 + i) * 1000 + k);
  }
  const TraceFile trace(rows, ",prefix_id,prefix_tokens");
  for (const std::int64_t capacity : {70, 120, 300}) {
    INFO(capacity);
    kv::NaiveRadix tree(capacity, true);
    std::int64_t expected = 0;
    for (const auto& prompt : said) expected += tree.serve(prompt);
    const metrics::Summary s =
        summary_of(trace, {"kv_cache.block_size=1", "prefix_cache.eviction=leaf_lru",
                           fmt::format("kv_cache.budget={} blocks", capacity + 1)});  // and the engine's null block
    CHECK(s.prefix_cache.hit_tokens == expected);
    CHECK(expected > 500);
  }
}

TEST_CASE("cache rules: an engine with an order of its own, and policies that do not go with them, are told") {
  const TraceFile trace = mixed();
  const auto error_of = [&](const Sets& sets) -> std::string {
    try {
      static_cast<void>(summary_of(trace, sets));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const std::string v0 = error_of(
      {"engine.scheduler=vllm-v0", "prefix_cache.admission=tinylfu", "prefix_cache.pin=8", "prefix_cache.quota=0.5"});
  for (const char* key :
       {"prefix_cache.admission: vllm-v0", "prefix_cache.pin: vllm-v0", "prefix_cache.quota: vllm-v0"})
    CHECK(v0.find(key) != std::string::npos);
  CHECK(
      error_of({"engine.scheduler=vllm-v0", "prefix_cache.warm=" + trace.path()}).find("prefix_cache.warm: vllm-v0") !=
      std::string::npos);
  CHECK(error_of({"prefix_cache.eviction=opt", "prefix_cache.pin=8"}).find("bound") != std::string::npos);
  CHECK(error_of({"prefix_cache.eviction=ttl", "prefix_cache.admission=tinylfu"}).find("age") != std::string::npos);
  CHECK(error_of({"prefix_cache.pin=7"}).find("at least 8 tokens") != std::string::npos);
  CHECK(error_of({"prefix_cache.pin=8"}).empty());
  CHECK(error_of({"prefix_cache.quota=1.5"}).find("prefix_cache.quota") != std::string::npos);
}
