#include "sim/workload/prefix_statistics.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/workload/survey.h"
#include "tests/workload/real_traces.h"
#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

struct Seen {
  ReadReport read;
  Survey survey;
};

Seen look_at(const std::string& path, const std::string& format = "auto", Tokens limit = Tokens(0)) {
  ContentStore contents;
  TraceOptions options;
  options.format = format;
  options.contents = &contents;
  options.untimed = UntimedRows::keep;
  const auto source = open_trace(path, options);
  Survey seen = survey(*source, source->report(), contents, limit);
  return {source->report(), std::move(seen)};
}

Seen look_at_text(std::string_view text) {
  const TraceFolder folder;
  return look_at(folder.write("trace", text));
}

std::string digits(double value, int places) { return fmt::format("{:.{}f}", value, places); }

// Blocks of 512. Row 1: ids 0 1, 600 tokens. Row 2: the same: both ids hit, all 600 tokens; an engine looks up one
// block (599 / 512) and has it. Row 3: 0 2: one block hits. Row 4: 3 1: id 1 stands behind another first block, no hit.
TEST_CASE("hits of block ids by hand") {
  const Seen seen = look_at_text(
      "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 1, \"hash_ids\": [0, 1]}\n"
      "{\"timestamp\": 1, \"input_length\": 600, \"output_length\": 1, \"hash_ids\": [0, 1]}\n"
      "{\"timestamp\": 2, \"input_length\": 1024, \"output_length\": 1, \"hash_ids\": [0, 2]}\n"
      "{\"timestamp\": 3, \"input_length\": 1024, \"output_length\": 1, \"hash_ids\": [3, 4]}\n"
      "{\"timestamp\": 4, \"input_length\": 1024, \"output_length\": 1, \"hash_ids\": [3, 4]}\n");
  const PrefixStatistics& prefixes = seen.survey.prefixes;
  CHECK(prefixes.ids == 10);
  CHECK(prefixes.distinct_ids == 5);
  CHECK(prefixes.roots == 2);
  CHECK(prefixes.hit_ids == 2 + 1 + 2);
  CHECK(prefixes.hit_tokens == Tokens(600 + 512 + 1024));
  CHECK(prefixes.engine_hit_ids == 1 + 1 + 1);
  CHECK(prefixes.engine_hit_tokens == Tokens(3 * 512));
  CHECK(prefixes.repeating == 3);
}

TEST_CASE("hits of sessions and shared beginnings by hand") {
  // Session 1 says 100 + 10, then 150 + 10 of which 110 were said, then 200 that repeat at most 40.
  const Seen sessions = look_at_text(
      "arrival_s,prompt_tokens,output_tokens,session,reused_tokens\n0,100,10,1,\n1,150,10,1,\n2,200,10,1,40\n3,9,1,2,"
      "\n");
  CHECK(sessions.survey.prefixes.hit_tokens == Tokens(110 + 40));
  CHECK(sessions.survey.prefixes.sessions == 2);
  CHECK(sessions.survey.prefixes.longest_session == 3);
  CHECK(sessions.read.stated_reuse == Tokens(40));
  // The second sees 30 of its 50, the third 50 of its 60.
  const Seen beginnings = look_at_text(
      "arrival_s,prompt_tokens,output_tokens,prefix_id,prefix_tokens\n0,100,10,1,30\n1,100,10,1,50\n2,100,10,1,60\n"
      "3,100,10,2,60\n4,100,10,0,0\n");
  CHECK(beginnings.survey.prefixes.hit_tokens == Tokens(30 + 50));
  CHECK(beginnings.survey.prefixes.shared_prefixes == 2);
}

TEST_CASE("requests over a limit: the prompt alone, with its output, with what it declares") {
  const TraceFolder folder;
  const Seen seen = look_at(folder.write("trace",
                                         "arrival_s,prompt_tokens,output_tokens,max_tokens\n0,50,50,50\n1,50,51,51\n"
                                         "2,99,1,900\n3,100,1,1\n4,500,1,1\n"),
                            "auto", Tokens(100));
  CHECK(seen.survey.lengths.over_limit().prompt == 2);
  CHECK(seen.survey.lengths.over_limit().total == 3);
  CHECK(seen.survey.lengths.over_limit().declared == 4);
}

TEST_CASE("lengths in proportion correlate with 1, equal ones with 0") {
  const Seen proportional =
      look_at_text("arrival_s,prompt_tokens,output_tokens\n0,10,20\n1,100,200\n2,1000,2000\n3,40000,80000\n");
  CHECK(proportional.survey.lengths.correlation() == Approx(1));
  CHECK(proportional.survey.lengths.classes()[0].requests == 2);
  CHECK(proportional.survey.lengths.classes()[1].output_tokens == Tokens(2000));
  CHECK(proportional.survey.lengths.classes()[4].requests == 1);
  CHECK(look_at_text("arrival_s,prompt_tokens,output_tokens\n0,10,20\n1,10,30\n").survey.lengths.correlation() == 0);
}

TEST_CASE("the Mooncake conversation trace repeats what is published of it, block for block") {
  const std::string path = real_trace("mooncake/conversation_trace.jsonl");
  if (path.empty()) return;
  const Seen seen = look_at(path);
  const PrefixStatistics& prefixes = seen.survey.prefixes;
  CHECK(prefixes.ids == 288'500);
  CHECK(prefixes.distinct_ids == 182'790);
  CHECK(prefixes.longest_ids == 247);
  CHECK(prefixes.roots == 1);
  CHECK(prefixes.hit_ids == 105'710);
  CHECK(prefixes.engine_hit_ids == 105'592);
  CHECK(digits(prefixes.hit_share(), 6) == "0.373624");
  CHECK(digits(prefixes.engine_hit_share(), 6) == "0.373380");
}

TEST_CASE("the head of BurstGPT: failures and categories as published") {
  const std::string path = real_trace("burstgpt/BurstGPT_1.head54.csv");
  if (path.empty()) return;
  const Seen seen = look_at(path);
  CHECK(seen.read.format == "burstgpt");
  CHECK(seen.read.rows == 54);
  CHECK(seen.read.row_span == SimTime(3293'000'000'000));
  CHECK(digits(53 / to_seconds(seen.read.row_span), 4) == "0.0161");
  CHECK(seen.read.dropped_by_reason[static_cast<std::size_t>(DropReason::zero_prompt)] == 2);
  CHECK(seen.read.dropped() == 3);
  CHECK(seen.read.category_rows == std::vector<std::int64_t>{0, 36, 18});
}

TEST_CASE("TraceLab: rounds, sessions and stated shares as published") {
  const std::string rounds = real_trace("agentic/tracelab/round_trace.jsonl");
  const std::string replay = real_trace("agentic/tracelab/multi_session_large.csv");
  if (rounds.empty() || replay.empty()) return;
  const auto stated = [](const Seen& seen) {
    return 100 * static_cast<double>(seen.read.stated_reuse.count()) /
           static_cast<double>(seen.survey.prefixes.prompt_tokens.count());
  };
  const Seen recorded = look_at(rounds);
  CHECK(recorded.read.format == "tracelab");
  CHECK(recorded.read.kept == 19);
  CHECK(digits(stated(recorded), 2) == "92.13");
  CHECK(recorded.read.waiting == 17);
  const Seen replayed = look_at(replay);
  CHECK(replayed.read.format == "tracelab-replay");
  CHECK(replayed.read.kept == 303);
  CHECK(replayed.survey.prefixes.sessions == 48);
  CHECK(digits(stated(replayed), 2) == "81.66");
  CHECK(replayed.read.untimed == 303 - 48);
  CHECK(replayed.survey.trace.span == SimTime((9994 - 117) * 1'000'000LL));
}

TEST_CASE("Splitwise-sim and inference-perf files are read") {
  const std::string splitwise = real_trace("misc/splitwise_sim_test_trace.csv");
  const std::string azure = real_trace("misc/inference_perf_trace.csv");
  if (splitwise.empty() || azure.empty()) return;
  CHECK(look_at(splitwise).read.format == "splitwise");
  CHECK(look_at(splitwise).survey.trace.prompt_tokens.sum == Tokens(8192));
  CHECK(look_at(azure).read.format == "azure");
}

}  // namespace
}  // namespace blockyard::workload
