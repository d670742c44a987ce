// A story out of a run's files, and what is said where they are not as they should be.
#include "sim/report/story.h"

#include <catch2/catch.hpp>
#include <map>

#include "sim/base/diagnostics.h"
#include "sim/report/csv.h"
#include "tests/temporary_folder.h"

namespace blockyard::report {
namespace {

// "fields up to recomputed_tokens" and nothing in any bucket, but for one.
std::string row(const std::string& fields, metrics::TimeBucket bucket, const std::string& seconds) {
  std::string text = fields;
  for (std::size_t i = 0; i < metrics::kTimeBuckets; ++i) {
    text += "," + (i == static_cast<std::size_t>(bucket) ? seconds : std::string("0"));
  }
  return text + ",0,\n";
}

// Request 0 runs from 0 to 10 s; 1 arrives at 1 s, waits behind 2 and at the head, is preempted for 0.
void fill(const TemporaryFolder& folder) {
  using B = metrics::TimeBucket;
  folder.write("requests.csv", requests_header() +
                                   row("0,0,1000,101,finished,,0,0.5,0.1,10,0,0,0", B::decode_own, "10") +
                                   row("1,1,500,11,finished,,3,3.5,0.1,8,1,1.5,500", B::queue_kv_memory_head, "8") +
                                   row("2,0.5,40,1,finished,,1.5,1.75,,1.75,0,0,0", B::prefill_own, "1.75") +
                                   row("3,9,40,,unfinished,,,,,,0,0,0", B::prefill_own, ""));
  folder.write("events.csv",
               "t_s,event,request,other,cause\n"
               "0,admitted,0,,\n"
               "0.5,head,2,,seat\n"
               "2,admitted,2,,\n"
               "2,head,1,,kv_memory\n"
               "2.25,finished,2,,\n"
               "4,admitted,1,,\n"
               "4,head,,,\n"
               "5.5,preempted,1,0,\n"
               "5.5,head,1,,kv_memory\n"
               "6.5,resumed,1,,\n"
               "6.5,head,,,\n"
               "7,restored,1,,\n"
               "9,finished,1,,\n"
               "10,finished,0,,\n");
}

std::string error_of(const TemporaryFolder& folder) {
  try {
    (void)read_run_files(folder.path());
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a story: the line, who held the memory, the preemption and for whom") {
  const TemporaryFolder folder;
  fill(folder);
  const RunFiles files = read_run_files(folder.path());
  const Story s = stories_of(files, {1}).front();
  const SimTime second(kNanosecondsPerSecond);

  REQUIRE(s.line.size() == 2);
  CHECK(s.line[0].head == 2);
  CHECK(s.line[0].cause == QueueCause::seat);
  CHECK(s.line[0].from == second);
  CHECK(s.line[0].lasted == second);
  CHECK(s.line[1].head == 1);
  CHECK(s.line[1].lasted == second * 2);

  // At 2 s: request 0 with 1,000 tokens and 100 more over 9.5 s, of which 1.5 have gone; and request 2.
  REQUIRE(s.while_refused.has_value());
  CHECK(s.while_refused->running == 2);
  REQUIRE(s.while_refused->largest.size() == 2);
  CHECK(s.while_refused->largest[0].request == 0);
  CHECK(s.while_refused->largest[0].tokens == 1015);
  CHECK(s.while_refused->largest[1].request == 2);

  REQUIRE(s.preemptions.size() == 1);
  CHECK(s.preemptions[0].beneficiary == std::size_t{0});
  CHECK(s.preemptions[0].resumed == SimTime(6'500'000'000));
  CHECK(s.preemptions[0].restored == second * 7);
  CHECK(s.at_preemption[0].running == 1);

  const std::string text = print_story(s);
  for (const char* part : {"request 1: 500 prompt tokens, 11 output tokens; finished after 8.000 s",
                           "waits 1.000 s behind request 2", "waits 2.000 s at the head of the line: there was no KV",
                           "request 0 about 1,015", "is preempted to make room for request 0", "is back in the batch",
                           "has regained its length", "queue_kv_memory_head", "100.0 %"}) {
    INFO(text);
    CHECK_THAT(text, Catch::Contains(part));
  }
  const std::string other = print_story(stories_of(files, {0}).front());
  CHECK_THAT(other, Catch::Contains("5.500000 s  request 1 is preempted to make room for it"));
  const auto json = story_json(s);
  CHECK(json["preemptions"][0]["for_request"] == 0);
  CHECK(json["line"][1]["cause"] == "kv_memory");
  CHECK(json["time_ledger"]["queue_kv_memory_head_s"] == 8.0);
}

// Every field after recomputed_tokens by its bucket, in seconds.
std::string row_of(const std::string& fields, const std::map<metrics::TimeBucket, std::string>& buckets) {
  std::string text = fields;
  for (std::size_t i = 0; i < metrics::kTimeBuckets; ++i) {
    const auto bucket = buckets.find(static_cast<metrics::TimeBucket>(i));
    text += "," + (bucket == buckets.end() ? std::string("0") : bucket->second);
  }
  return text + ",0,\n";
}

TEST_CASE("a request stands in the line from the first step that can see it, and not before") {
  using B = metrics::TimeBucket;
  // Request 1 arrives at 1 s, is with the engine at 1.25 s, seen by the step at 1.75 s, and waits behind 0 until 3 s.
  const TemporaryFolder folder;
  folder.write("requests.csv", requests_header() +
                                   row("0,0,1000,1,finished,,2,2.5,,2.5,0,0,0", B::queue_seat_head, "2.5") +
                                   row_of("1,1,500,1,finished,,2,2.5,,2.5,0,0,0", {{B::front_end, "0.25"},
                                                                                   {B::step_boundary, "0.5"},
                                                                                   {B::queue_seat_behind, "1.25"},
                                                                                   {B::prefill_own, "0.5"}}));
  folder.write("events.csv",
               "t_s,event,request,other,cause\n"
               "0,head,0,,seat\n"
               "2,admitted,0,,\n"
               "2.5,finished,0,,\n"
               "3,admitted,1,,\n"
               "3,head,,,\n"
               "3.5,finished,1,,\n");
  const Story s = stories_of(read_run_files(folder.path()), {1}).front();
  REQUIRE(s.line.size() == 1);
  CHECK(s.line[0].from == SimTime(1'750'000'000));
  CHECK(s.line[0].lasted == SimTime(s.row.time[B::queue_seat_behind]));
  const std::string text = print_story(s);
  INFO(text);
  CHECK_THAT(text, Catch::Contains("1.000000 s  takes 250.0 ms to the engine"));
  CHECK_THAT(text, Catch::Contains("1.250000 s  waits 500.0 ms for the step that runs to end"));
  CHECK_THAT(text,
             Catch::Contains("1.750000 s  waits 1.250 s behind request 0, kept out because all seats were taken"));
}

TEST_CASE("one whose client leaves, and holders whose outputs are unknown") {
  using B = metrics::TimeBucket;
  const TemporaryFolder folder;
  folder.write("requests.csv", requests_header() + row("0,0,1000,,unfinished,,0,0.5,,,0,0,0", B::decode_own, "") +
                                   row("1,0,200,11,finished,,0,1,0.1,11,0,0,0", B::decode_own, "11") +
                                   row("2,1,500,,timed_out,,,,,,0,0,0", B::queue_kv_memory_head, "5"));
  folder.write("events.csv",
               "t_s,event,request,other,cause\n"
               "0,admitted,0,,\n"
               "0,admitted,1,,\n"
               "1,head,2,,kv_memory\n"
               "6,abandoned,2,,\n"
               "6,head,,,\n"
               "11,finished,1,,\n");
  const Story s = stories_of(read_run_files(folder.path()), {2}).front();
  CHECK(s.left == SimTime(6 * kNanosecondsPerSecond));
  REQUIRE(s.while_refused.has_value());
  CHECK(s.while_refused->largest[0].at_least);
  CHECK_FALSE(s.while_refused->largest[1].at_least);
  const std::string text = print_story(s);
  INFO(text);
  CHECK_THAT(text, Catch::Contains("2 running; the most: ") && Catch::Contains("request 0 at least 1,000") &&
                       Catch::Contains("request 1 about 200"));
  CHECK_THAT(text, Catch::Contains("6.000000 s  its client leaves"));
  CHECK_THAT(text, Catch::Contains("    until it left") && !Catch::Contains("E2E"));
  CHECK(story_json(s)["left_s"] == 5.0);
  CHECK(story_json(s)["memory_held_while_refused"]["largest"][0]["at_least"] == true);
  CHECK(story_json(s)["memory_held_while_refused"]["pool"].is_null());
}

TEST_CASE("what the pool held is that of the last row of the time series") {
  const TemporaryFolder folder;
  fill(folder);
  folder.write("timeseries.csv",
               "t_s,running,live_bytes,cached_bytes,reserved_bytes,over_reserved_bytes,tail_bytes,padding_bytes,"
               "external_bytes,free_bytes\n"
               "1,1,1,0,0,0,0,0,0,999\n"
               "2,2,600,0,0,250,0,0,0,150\n"
               "3,1,2,0,0,0,0,0,0,998\n");
  const Story s = stories_of(read_run_files(folder.path()), {1}).front();
  const std::string text = print_story(s);
  CHECK_THAT(text,
             Catch::Contains("the pool at 2 s was 60.0 %") && Catch::Contains("over_reserved, 15.0 % free; the most"));
  const auto pool = story_json(s)["memory_held_while_refused"]["pool"];
  CHECK(pool["t_s"] == 2.0);
  CHECK(pool["over_reserved_bytes"] == 250);
}

TEST_CASE("the worst by each figure, and one that has not ended") {
  const TemporaryFolder folder;
  fill(folder);
  const RunFiles files = read_run_files(folder.path());
  CHECK(worst(files, 2, WorstBy::e2e) == std::vector<std::size_t>{0, 1});
  CHECK(worst(files, 9, WorstBy::stall) == std::vector<std::size_t>{1});
  CHECK(worst(files, 1, WorstBy::ttft) == std::vector<std::size_t>{1});
  // Together they are told as they are one by one.
  const std::vector<Story> stories = stories_of(files, {3, 1, 0});
  for (const Story& story : stories) {
    CHECK(print_story(story) == print_story(stories_of(files, {story.request}).front()));
  }
  CHECK_THAT(print_story(stories[0]), Catch::Contains("unfinished when the run ended"));
}

TEST_CASE("each replica has a line and holders of its own") {
  using B = metrics::TimeBucket;
  const TemporaryFolder folder;
  const auto in_replica = [](std::string text, int replica) {
    text.insert(text.size() - 1, "," + std::to_string(replica));
    return text;
  };
  // Request 2 heads the line of replica 0 all along; 3 runs in replica 1, where 1 waits for memory from 1 to 3 s.
  folder.write("requests.csv",
               requests_header(true) +
                   in_replica(row("0,0,1000,101,finished,,0,0.5,0.1,10,0,0,0", B::decode_own, "10"), 0) +
                   in_replica(row("1,1,500,11,finished,,2,2.5,0.1,8,0,0,0", B::queue_kv_memory_head, "2"), 1) +
                   in_replica(row("2,0.5,40,1,finished,,9.5,9.75,,9.75,0,0,0", B::queue_kv_memory_head, "9.5"), 0) +
                   in_replica(row("3,0.75,700,2,finished,,0,0.5,0.1,4,0,0,0", B::decode_own, "4"), 1));
  folder.write("events.csv",
               "t_s,event,request,other,cause,replica\n"
               "0,admitted,0,,,0\n"
               "0.5,head,2,,kv_memory,0\n"
               "0.75,admitted,3,,,1\n"
               "1,head,1,,kv_memory,1\n"
               "3,admitted,1,,,1\n"
               "3,head,,,,1\n"
               "4.75,finished,3,,,1\n"
               "9,finished,1,,,1\n"
               "10,finished,0,,,0\n"
               "10,admitted,2,,,0\n"
               "10,head,,,,0\n"
               "10.25,finished,2,,,0\n");
  const Story s = stories_of(read_run_files(folder.path()), {1}).front();
  REQUIRE(s.line.size() == 1);
  CHECK(s.line[0].head == 1);
  CHECK(s.line[0].lasted == SimTime(2 * kNanosecondsPerSecond));
  REQUIRE(s.while_refused.has_value());
  REQUIRE(s.while_refused->largest.size() == 1);
  CHECK(s.while_refused->largest[0].request == 3);
}

TEST_CASE("what is missing or damaged is told with its place and the remedy") {
  const TemporaryFolder folder;
  CHECK_THAT(error_of(folder), Catch::Contains("requests.csv: cannot be read") && Catch::Contains("--out"));
  fill(folder);
  std::filesystem::remove(folder.path() / "events.csv");
  CHECK_THAT(error_of(folder), Catch::Contains("events.csv") && Catch::Contains("output.events=true"));
  folder.write("events.csv", "t_s,event,request,other,cause\n0,admitted,99,,\n");
  CHECK_THAT(error_of(folder), Catch::Contains("events.csv:2:12") && Catch::Contains("found \"99\""));
  folder.write("events.csv", "t_s,event,request,other,cause\n0,admired,1,,\n");
  CHECK_THAT(error_of(folder), Catch::Contains("events.csv:2:3"));
  folder.write("events.csv", "t_s,event,request\n");
  CHECK_THAT(error_of(folder), Catch::Contains("no column \"other\""));
  folder.write("events.csv", "t_s,event,request,other,cause\n9.5,finished,1,,\n");
  CHECK_THAT(error_of(folder), Catch::Contains("events.csv:2:1") && Catch::Contains("not of one run"));
  folder.write("events.csv", "");
  CHECK_THAT(error_of(folder), Catch::Contains("is empty"));
  folder.write("requests.csv", "request,arrival_s\n0,0\n");
  CHECK_THAT(error_of(folder), Catch::Contains("no column \"prompt_tokens\""));
}

}  // namespace
}  // namespace blockyard::report
