// A trace through the prefix cache alone: a published table to the last block, blocks of other sizes, samples.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "sim/base/diagnostics.h"
#include "sim/study/cache_study.h"
#include "sim/study/cache_trace.h"

namespace blockyard::study {
namespace {

const std::string kMooncake = std::string(BLOCKYARD_DATA_DIR) + "/traces/mooncake/conversation_trace.jsonl";

bool has_mooncake() {
  if (std::filesystem::exists(kMooncake)) return true;
  std::cout << "test skipped: no " << kMooncake << '\n';
  return false;
}

std::string written(const std::string& name, const std::string& text) {
  const std::string file = (std::filesystem::temp_directory_path() / name).string();
  std::ofstream(file) << text;
  return file;
}

CacheStudy study_of(const char* policy, std::vector<std::int64_t> capacities) {
  CacheStudy study;
  study.policies = {kv::find_eviction(policy)};
  study.capacities = std::move(capacities);
  return study;
}

struct Row {
  std::int64_t capacity;
  std::int64_t raw_blocks;
  std::int64_t full_blocks;
};
// Leading blocks found by an independent count of Mooncake's conversation trace, 512-token blocks.
const std::vector<Row> kTable{{1000, 12847, 12990},        {5000, 32260, 34193},    {10000, 61046, 62005},
                              {30000, 93978, 95337},       {50000, 102290, 102724}, {100000, 104924, 104926},
                              {10'000'000, 105710, 105592}};

TEST_CASE("mooncake conversation: hits of lru to the last block, by runs and from one pass") {
  if (!has_mooncake()) return;
  for (const kv::Lookup lookup : {kv::Lookup::raw, kv::Lookup::full}) {
    const CacheTrace trace = read_cache_trace(kMooncake, {.lookup = lookup});
    const kv::ReuseDistances curve(trace.references);
    std::vector<std::int64_t> capacities;
    for (const Row& row : kTable) capacities.push_back(row.capacity);
    const auto results = run_cache_study(trace.references, curve, study_of("lru", capacities));
    for (std::size_t i = 0; i < kTable.size(); ++i) {
      const std::int64_t expected = lookup == kv::Lookup::raw ? kTable[i].raw_blocks : kTable[i].full_blocks;
      INFO(kTable[i].capacity);
      CHECK(results[i].counts.hit_blocks == expected);
      CHECK(curve.hit_blocks(kTable[i].capacity) == expected);
      CHECK(curve.hit_tokens(kTable[i].capacity) == results[i].counts.hit_tokens);
    }
  }
}

TEST_CASE("mooncake conversation: a sample estimates what all contents show") {
  if (!has_mooncake()) return;
  const CacheTrace trace = read_cache_trace(kMooncake, {});
  const kv::ReuseDistances lru(trace.references);
  CacheStudy study = study_of("s3_fifo", {5000, 20000});
  const auto exact = run_cache_study(trace.references, lru, study);
  study.sample_share = 0.1;
  const auto estimate = run_cache_study(trace.references, lru, study);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    INFO(exact[i].counts.hit_blocks << " " << estimate[i].counts.hit_blocks << " +- "
                                    << *estimate[i].standard_error_blocks);
    const double off = static_cast<double>(estimate[i].counts.hit_blocks - exact[i].counts.hit_blocks);
    CHECK(std::abs(off) < 0.02 * static_cast<double>(trace.references.blocks()));
    CHECK(*estimate[i].standard_error_blocks > 0);
  }
}

TEST_CASE("ids of 512 tokens cut into blocks of 16 share the same tokens") {
  const std::string file =
      written("blockyard_cache_reblock.jsonl",
              "{\"timestamp\":0,\"input_length\":1300,\"output_length\":5,\"hash_ids\":[1,2,3]}\n"
              "{\"timestamp\":1,\"input_length\":1200,\"output_length\":5,\"hash_ids\":[1,2,4]}\n");
  const CacheTrace own = read_cache_trace(file, {});
  CHECK(own.references.block_size() == Tokens(512));
  CHECK(kv::ReuseDistances(own.references).reused_tokens() == 1024);
  const CacheTrace small = read_cache_trace(file, {.block_size = Tokens(16)});
  CHECK(small.references.blocks() == 82 + 75);
  CHECK(kv::ReuseDistances(small.references).reused_tokens() == 1024);
  const CacheTrace large = read_cache_trace(file, {.block_size = Tokens(1000)});
  CHECK(kv::ReuseDistances(large.references).reused_tokens() == 1000);
}

TEST_CASE("sessions and shared beginnings share without ids") {
  const std::string file = written("blockyard_cache_sessions.csv",
                                   "arrival_s,prompt_tokens,output_tokens,session,prefix_id,prefix_tokens\n"
                                   "0,100,28,7,0,0\n1,200,10,7,0,0\n2,64,5,0,3,40\n3,64,5,0,3,40\n");
  const CacheTrace trace = read_cache_trace(file, {.lookup = kv::Lookup::full});
  CHECK(trace.references.block_size() == Tokens(16));
  // The second turn begins with the first prompt, of which 6 blocks are full; the fourth with 40 tokens of the third.
  CHECK(kv::ReuseDistances(trace.references).reused_tokens() == 96 + 32);
}

TEST_CASE("answers are found by the next turn of their session, but for the last token, which is never computed") {
  const std::string file =
      written("blockyard_cache_answers.csv",
              "arrival_s,prompt_tokens,output_tokens,session\n0,100,28,7\n1,200,10,7\n2,210,5,7\n");
  const CacheTrace trace = read_cache_trace(file, {.lookup = kv::Lookup::full, .answers = true});
  CHECK(trace.references.blocks() == 7 + 13 + 14);
  CHECK(trace.references.prompt_tokens() == Tokens(510));
  // 127 tokens are computed of the first turn, 7 full blocks; 209 of the second, 13.
  CHECK(kv::ReuseDistances(trace.references).reused_tokens() == 112 + 208);
  kv::CacheRunOptions options;
  options.capacity = 100;
  CHECK(kv::find_eviction("lru")->run(trace.references, options).hit_tokens == 112 + 208);
  CHECK(kv::find_eviction("opt")->run(trace.references, options).hit_tokens == 112 + 208);
}

TEST_CASE("warm: what another trace said is there, by ids, sessions and shared beginnings") {
  const std::string ids = written("blockyard_cache_warm.jsonl",
                                  "{\"timestamp\":0,\"input_length\":1536,\"output_length\":5,\"hash_ids\":[1,2,3]}\n");
  const std::string asks =
      written("blockyard_cache_asks.jsonl",
              "{\"timestamp\":0,\"input_length\":1200,\"output_length\":5,\"hash_ids\":[1,2,4]}\n");
  const auto reused = [](const CacheTrace& trace) { return kv::ReuseDistances(trace.references).reused_tokens(); };
  CHECK(reused(read_cache_trace(asks, {})) == 0);
  CHECK(reused(read_cache_trace(asks, {.warm = ids})) == 1024);
  CHECK(reused(read_cache_trace(asks, {.block_size = Tokens(16), .warm = ids})) == 1024);
  CHECK(read_cache_trace(asks, {.warm = ids}).references.prompt_tokens() == Tokens(1200));

  const std::string columns = "arrival_s,prompt_tokens,output_tokens,session,prefix_id,prefix_tokens\n";
  const std::string said = written("blockyard_cache_said.csv", columns + "0,100,28,7,0,0\n9,64,5,0,3,40\n");
  const std::string turns = written("blockyard_cache_turns.csv", columns + "0,200,10,7,0,0\n1,64,5,0,3,40\n");
  const CacheTrace later = read_cache_trace(turns, {.lookup = kv::Lookup::full, .warm = said});
  CHECK(reused(later) == 96 + 32);
  const CacheTrace answered = read_cache_trace(turns, {.lookup = kv::Lookup::full, .answers = true, .warm = said});
  CHECK(reused(answered) == 112 + 32);
  const CacheTrace apart =
      read_cache_trace(turns, {.lookup = kv::Lookup::full, .salt = serving::CacheSalt::request, .warm = said});
  CHECK(reused(apart) == 0);
  CHECK(shared_by_depth(later.references).front().shared_tokens == 2 * 16);
}

TEST_CASE("warm: ids of blocks of another size name other things, and that is told") {
  const std::string of_512 = written("blockyard_cache_512.jsonl",
                                     "{\"timestamp\":0,\"input_length\":600,\"output_length\":5,\"hash_ids\":[1,2]}\n");
  const std::string of_16 =
      written("blockyard_cache_16.jsonl",
              "{\"chat_id\":1,\"parent_chat_id\":-1,\"timestamp\":0.5,\"input_length\":20,\"output_length\":5,"
              "\"type\":\"text\",\"turn\":1,\"hash_ids\":[1,2]}\n");
  CHECK_THROWS_AS(read_cache_trace(of_512, {.warm = of_16}), InputError);
}

TEST_CASE("a salt keeps tenants apart") {
  const std::string file = written("blockyard_cache_salt.csv",
                                   "arrival_s,prompt_tokens,output_tokens,tenant,prefix_id,prefix_tokens\n"
                                   "0,64,5,1,3,64\n1,64,5,2,3,64\n2,64,5,1,3,64\n");
  const auto reused = [&](serving::CacheSalt salt) {
    return kv::ReuseDistances(read_cache_trace(file, {.salt = salt}).references).reused_tokens();
  };
  CHECK(reused(serving::CacheSalt::none) == 128);
  CHECK(reused(serving::CacheSalt::tenant) == 64);
  CHECK(reused(serving::CacheSalt::request) == 0);
}

TEST_CASE("shared by depth adds up to all tokens and to the ideal") {
  const std::string file = written("blockyard_cache_depth.jsonl",
                                   "{\"timestamp\":0,\"input_length\":1300,\"output_length\":5,\"hash_ids\":[1,2,3]}\n"
                                   "{\"timestamp\":1,\"input_length\":1200,\"output_length\":5,\"hash_ids\":[1,2,4]}\n"
                                   "{\"timestamp\":2,\"input_length\":512,\"output_length\":0,\"hash_ids\":[1]}\n");
  const CacheTrace trace = read_cache_trace(file, {});
  const auto depths = shared_by_depth(trace.references);
  REQUIRE(depths.size() == 2);
  CHECK(depths[0].prompts == 3);
  CHECK(depths[0].tokens == 3 * 512);
  CHECK(depths[0].shared_tokens == 2 * 512);
  CHECK(depths[1].prompts == 2);
  CHECK(depths[1].tokens == 788 + 688);
  CHECK(depths[1].shared_tokens == 512);
}

}  // namespace
}  // namespace blockyard::study
