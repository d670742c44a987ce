#include "sim/workload/trace_edits.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/workload/survey.h"
#include "tests/workload/real_traces.h"
#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

struct Edited {
  std::vector<Request> requests;
  EditReport report;
};

Edited edit(const std::string& path, const TraceEdits& edits) {
  auto trace = open_trace(path);
  const ReadReport& read = trace->report();
  EditedTrace edited(std::move(trace), read, edits, nullptr, nullptr);
  Edited result{read_all(edited), {}};
  result.report = edited.report();
  return result;
}

std::string window_error(std::string_view text) {
  try {
    (void)parse_window(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// One request a minute from 23:30 on.
std::string two_days(const TraceFolder& folder) {
  std::string text = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  for (int minute = 0; minute < 60; ++minute) {
    const int of_day = (23 * 60 + 30 + minute) % 1440;
    text +=
        fmt::format("2024-05-{} {:02}:{:02}:00,{},5\n", minute < 30 ? 10 : 11, of_day / 60, of_day % 60, minute + 1);
  }
  return folder.write("days.csv", text);
}

TEST_CASE("a scale that stretches a trace beyond 64 bits of ns is refused, for arrivals and for think times") {
  const TraceFolder folder;
  const std::string path =
      folder.write("t.csv", "arrival_s,prompt_tokens,output_tokens,session,delay_s\n0,1,1,1,\n1,1,1,1,2\n");
  TraceEdits edits;
  edits.rate_scale = 1e-300;
  CHECK_THROWS_WITH(edit(path, edits), "a rate scale of 1e-300 stretches the trace beyond 200 years");
  edits.rate_scale = 0.5;
  edits.scale_delays = true;
  const Edited slower = edit(path, edits);
  CHECK(slower.requests[1].arrival == SimTime(2'000'000'000));
  CHECK(slower.requests[1].delay == SimTime(4'000'000'000));
}

TEST_CASE("windows: seconds from the first request, times of day, hours past midnight, dates; the end is outside") {
  const TraceFolder folder;
  const std::string path = two_days(folder);
  const auto prompts = [&](std::string_view window) {
    TraceEdits edits;
    edits.window = parse_window(window);
    const Edited edited = edit(path, edits);
    CHECK(edited.report.outside_window + std::ssize(edited.requests) == 60);
    if (edited.requests.empty()) return std::pair<std::int64_t, std::int64_t>{0, 0};
    CHECK(edited.requests.front().arrival == SimTime(0));
    return std::pair(edited.requests.front().prompt_tokens.count(), edited.requests.back().prompt_tokens.count());
  };
  CHECK(prompts("120..300") == std::pair<std::int64_t, std::int64_t>(3, 5));
  CHECK(prompts("120 s..300s") == std::pair<std::int64_t, std::int64_t>(3, 5));
  CHECK(prompts("23:40..23:42") == std::pair<std::int64_t, std::int64_t>(11, 12));
  CHECK(prompts("23:59:00..24:01:30") == std::pair<std::int64_t, std::int64_t>(30, 32));
  CHECK(prompts("2024-05-11T00:10..2024-05-11 00:12:00") == std::pair<std::int64_t, std::int64_t>(41, 42));
  CHECK(prompts("24:28..") == std::pair<std::int64_t, std::int64_t>(59, 60));
  CHECK(prompts("..120") == std::pair<std::int64_t, std::int64_t>(1, 2));
  CHECK(prompts("9999..") == std::pair<std::int64_t, std::int64_t>(0, 0));
}

TEST_CASE("the first so many are those of the window") {
  const TraceFolder folder;
  TraceEdits edits;
  edits.window = parse_window("600..1200");
  edits.first = 3;
  const Edited some = edit(two_days(folder), edits);
  REQUIRE(some.requests.size() == 3);
  CHECK(some.requests.front().prompt_tokens == Tokens(11));
  edits.first = 100;
  CHECK(edit(two_days(folder), edits).requests.size() == 10);
}

TEST_CASE("windows that are none are refused") {
  CHECK(window_error("10:00").find("expected FROM..TO") != std::string::npos);
  CHECK(window_error("11:00..10:00").find("ends before it begins") != std::string::npos);
  for (const char* text :
       {"x..", "10:61..", "-5..", "..1e400", "10:00:00:00..", "2024-13-01T00:00..", ":..", "nan.."}) {
    INFO(text);
    CHECK(window_error(text).find("--window: found") == 0);
  }
}

TEST_CASE("a limit leaves out what does not fit, or cuts it") {
  const TraceFolder folder;
  const std::string path =
      folder.write("t", "arrival_s,prompt_tokens,output_tokens,max_tokens\n0,50,50,80\n1,80,30,30\n2,300,30,30\n");
  TraceEdits edits;
  edits.max_model_len = Tokens(100);
  CHECK(edit(path, edits).requests.size() == 1);
  CHECK(edit(path, edits).report.over_limit == 2);
  edits.clip = true;
  const Edited cut = edit(path, edits);
  REQUIRE(cut.requests.size() == 3);
  CHECK(cut.requests[1].output_tokens == Tokens(20));
  CHECK(cut.requests[2].prompt_tokens == Tokens(99));
  CHECK(cut.requests[2].output_tokens == Tokens(1));
}

TEST_CASE("a scale divides arrivals, and think times only when asked") {
  const TraceFolder folder;
  const std::string path =
      folder.write("t", "arrival_s,prompt_tokens,output_tokens,session,delay_s\n0,50,50,1,\n3,80,30,1,1\n");
  TraceEdits edits;
  edits.rate_scale = 2;
  CHECK(edit(path, edits).requests[1].arrival == SimTime(1'500'000'000));
  CHECK(edit(path, edits).requests[1].delay == SimTime(1'000'000'000));
  edits.scale_delays = true;
  CHECK(edit(path, edits).requests[1].delay == SimTime(500'000'000));
}

Survey sampled(const std::string& path, double fraction, std::uint64_t seed, bool whole) {
  TraceSample sample(fraction, seed);
  const auto open = [&](ContentStore& contents, const ReadReport*& read) {
    TraceOptions options;
    options.contents = &contents;
    options.untimed = UntimedRows::keep;
    auto trace = open_trace(path, options);
    read = &trace->report();
    return trace;
  };
  {
    ContentStore contents;
    const ReadReport* read = nullptr;
    const auto trace = open(contents, read);
    const std::vector<Request> all = read_all(*trace);
    if (read->hash_block > 0) sample.set_block(Tokens(read->hash_block));
    sample.count(all, contents);
  }
  ContentStore contents;
  const ReadReport* read = nullptr;
  auto trace = open(contents, read);
  EditedTrace edited(std::move(trace), *read, {}, whole ? nullptr : &sample, &contents);
  return survey(edited, *read, contents);
}

TEST_CASE("a sample keeps whole sessions, about as many as asked") {
  const TraceFolder folder;
  std::string text = "arrival_s,prompt_tokens,output_tokens,session\n";
  for (int i = 0; i < 20'000; ++i) text += fmt::format("{},100,10,{}\n", i, 1 + i % 2000);
  const std::string path = folder.write("t", text);
  const Survey seen = sampled(path, 0.1, 7, false);
  CHECK(seen.prefixes.longest_session == 10);
  CHECK(seen.prefixes.requests_in_sessions == 10 * seen.prefixes.sessions);
  // Binomial, 2000 sessions of 0.1: 200 with a standard deviation of 13.4; five of them.
  CHECK(std::abs(seen.prefixes.sessions - 200) < 67);
  CHECK(sampled(path, 0.1, 8, false).trace.requests != seen.trace.requests);
}

TEST_CASE("a tenth of the Mooncake conversations repeats as much as the whole") {
  const std::string path = real_trace("mooncake/conversation_trace.jsonl");
  if (path.empty()) return;
  const Survey whole = sampled(path, 0.1, 0, true);
  double sum = 0;
  constexpr int kSeeds = 5;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Survey some = sampled(path, 0.1, seed, false);
    CHECK(some.trace.requests > 600);
    CHECK(some.trace.requests < 1800);
    sum += some.prefixes.hit_share();
  }
  CHECK(sum / kSeeds == Approx(whole.prefixes.hit_share()).margin(0.05));
}

}  // namespace
}  // namespace blockyard::workload
