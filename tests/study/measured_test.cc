#include "sim/study/validate/measured.h"

#include <catch2/catch.hpp>

#include "sim/base/diagnostics.h"
#include "tests/workload/trace_fixture.h"

using namespace blockyard;
using namespace blockyard::study;

namespace {

std::string faults_of(const std::string& path) {
  try {
    static_cast<void>(read_measured(path));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a CSV of measured requests: columns by name, order of arrival, the first at 0, failed ones counted") {
  const workload::TraceFolder folder;
  const MeasuredRun run =
      read_measured(folder.write("m.csv",
                                 "e2e_s,ttft_s,request_id,output_tokens,prompt_tokens,arrival_s,error,prompt_id\r\n"
                                 "3.5,0.5,0,4,100,12.5,0,7\r\n"
                                 "1,,1,1,50,10,,7\r\n"
                                 "0,0,2,0,50,11,timeout,1\r\n"));
  REQUIRE(run.requests.size() == 2);
  CHECK(run.file.failed == 1);
  CHECK(run.file.format == "csv");
  const MeasuredRequest& first = run.requests[0];
  const MeasuredRequest& second = run.requests[1];
  CHECK(first.arrival == SimTime(0));
  CHECK_FALSE(first.ttft);
  CHECK_FALSE(first.tpot_ns);  // one token
  CHECK(second.arrival == SimTime(2'500'000'000));
  CHECK(*second.ttft == SimTime(500'000'000));
  CHECK(*second.tpot_ns == 1e9);  // (3.5 - 0.5) / 3
  // One prompt_id: the shorter prompt is the beginning of the longer.
  REQUIRE(first.content.size() == 1);
  CHECK(first.content[0].start == second.content[0].start);
  CHECK(first.content[0].count == 50);
  CHECK(second.content[0].count == 100);
}

TEST_CASE("arrivals that were measured go before those that were planned, and a file of blocks beside it is read") {
  const workload::TraceFolder folder;
  folder.write("m.blocks.csv", "request_id,block_ids\n1,5 6\n0,5 7 9\n");
  const MeasuredRun run = read_measured(folder.write(
      "m.csv",
      "request_id,arrival_s,arrival_measured_s,prompt_tokens,output_tokens,e2e_s\n0,0,1,40,2,1\n1,1,0,32,2,1\n"));
  REQUIRE(run.requests.size() == 2);
  CHECK(run.requests[0].prompt_tokens == Tokens(32));  // arrived first
  CHECK(run.requests[0].content == Content{{80, 32}});
  CHECK(run.requests[1].content == Content{{80, 16}, {112, 16}, {144, 8}});  // cut at the prompt's end
}

TEST_CASE("a file of blocks that does not match the requests is a fault, not ignored") {
  const workload::TraceFolder folder;
  folder.write("m.blocks.csv", "request_id,block_ids\n1,5 6\n0,5 7 9\n");
  const std::string rows = "arrival_s,prompt_tokens,output_tokens,e2e_s";
  const std::string nameless = folder.write("m.csv", rows + "\n0,40,2,1\n");
  CHECK(faults_of(nameless).find(":1:1: beside it is a file of blocks") != std::string::npos);
  const std::string other = folder.write("m.csv", rows + ",request_id\n0,40,2,1,0\n0,40,2,1,7\n");
  CHECK(faults_of(other).find(":3:10: request_id: expected a request that the file of blocks beside it names") !=
        std::string::npos);
  const std::string malformed = folder.write("m.csv", rows + ",request_id\n0,40,2,1,0\n0,40,2,1,x\n");
  CHECK(faults_of(malformed).find("names") == std::string::npos);  // told once, as no number
}

TEST_CASE("every fault of a measured CSV is told with its place") {
  const workload::TraceFolder folder;
  const std::string path = folder.write(
      "m.csv", "arrival_s,prompt_tokens,output_tokens,ttft_s\n1,2,3\n-1,2,3,1\n1,0,3,1\n1,2.5,3,1\n,2,3,1\n1,2,3,x\n");
  const std::string faults = faults_of(path);
  CHECK(faults.find(path + ":2:1: found 3 fields, expected 4") != std::string::npos);
  CHECK(faults.find(path + ":3:1: arrival_s: found \"-1\", expected 0 or more") != std::string::npos);
  CHECK(faults.find(path + ":4:3: prompt_tokens: found 0") != std::string::npos);
  CHECK(faults.find(path + ":5:3: prompt_tokens: found \"2.5\", expected a whole number") != std::string::npos);
  CHECK(faults.find(path + ":6:1: arrival_s: empty") != std::string::npos);
  CHECK(faults.find(path + ":7:7: ttft_s: found \"x\"") != std::string::npos);
  CHECK(faults_of(folder.write("n.csv", "arrival_s,prompt_tokens\n0,1\n"))
            .find("need the column(s) output_tokens, ttft_s or e2e_s") != std::string::npos);
  CHECK(faults_of(folder.write("o.csv", "arrival_s,prompt_tokens,output_tokens,e2e_s\n"))
            .find("no request that was served") != std::string::npos);
}

TEST_CASE("a first token after the last is no measurement; a clock that counts from 1970 is one") {
  const workload::TraceFolder folder;
  CHECK(faults_of(folder.write("m.csv", "arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s\n0,1,3,2,1\n"))
            .find(":2:7: ttft_s: expected no more than e2e_s") != std::string::npos);
  const MeasuredRun run =
      read_measured(folder.write("r.json", R"({"input_lens": [10, 20], "output_lens": [3, 1], "ttfts": [0.25, 0.5],
          "itls": [[0.1, 0.2], []], "start_times": [1764460800.5, 1764460800.0]})"));
  CHECK(run.requests[1].arrival == SimTime(500'000'000));
}

TEST_CASE("the result of vllm bench serve") {
  const workload::TraceFolder folder;
  const MeasuredRun run = read_measured(
      folder.write("r.json",
                   R"({"date": "x", "input_lens": [10, 20, 5], "output_lens": [3, 1, 0], "ttfts": [0.25, 0.5, 0.0],
          "itls": [[0.1, 0.2], [], []], "start_times": [100.5, 100.0, 101.0], "errors": ["", "", "gone"]})"));
  REQUIRE(run.requests.size() == 2);
  CHECK(run.file.failed == 1);
  CHECK(run.requests[0].prompt_tokens == Tokens(20));
  CHECK(run.requests[1].arrival == SimTime(500'000'000));
  CHECK(*run.requests[1].e2e == SimTime(550'000'000));
  CHECK(*run.requests[1].tpot_ns == Approx(150e6));
  CHECK(run.gaps_ns == std::vector<std::int64_t>{100'000'000, 200'000'000});

  CHECK(faults_of(folder.write("s.json", R"({"input_lens": [10]})"))
            .find("no start_times, output_lens, ttfts, itls: save the result with") != std::string::npos);
  CHECK(faults_of(folder.write("s.json", R"({"completed": 3, "failed": 0, "mean_ttft_ms": 12.5})"))
            .find("a result by request is saved by --save-result --save-detailed") != std::string::npos);
  CHECK(faults_of(folder.write("t.json", "{\"a\": 1,\n \"b\": }")).find("t.json:2:7: not valid JSON") !=
        std::string::npos);
  CHECK(faults_of(folder.write(
                      "u.json",
                      R"({"input_lens": [1], "output_lens": [1], "ttfts": ["a"], "itls": [[]], "start_times": [0]})"))
            .find("ttfts[0]: found \"a\", expected seconds") != std::string::npos);
  // A clock may count from 1970, a duration may not; nor may gaps add up to that.
  for (const char* times : {R"("ttfts": [2e9], "itls": [[1]])", R"("ttfts": [1], "itls": [[9e8, 9e8]])"}) {
    const std::string text = R"({"input_lens": [1], "output_lens": [3], "start_times": [1.7e9], )";
    CHECK(faults_of(folder.write("l.json", text + times + "}")) != "");
  }
}

TEST_CASE("gaps between chunks are not gaps between tokens: fewer, more and none are counted, each by itself") {
  const workload::TraceFolder folder;
  const MeasuredRun run = read_measured(folder.write(
      "r.json", R"({"start_times": [0, 1, 2, 3, 4], "input_lens": [9, 9, 9, 9, 9], "output_lens": [4, 4, 4, 4, 1],
          "ttfts": [0.5, 0.5, 0.5, 0.5, 0.5], "itls": [[0.1, 0.1, 0.1], [0.3], [], [0.1, 0.1, 0.1, 0.0], []]})"));
  REQUIRE(run.requests.size() == 5);
  CHECK(run.file.fewer_gaps == 1);
  CHECK(run.file.more_gaps == 1);
  CHECK(run.file.without_gaps == 1);
  for (const std::size_t i : {0U, 1U, 3U}) {
    CHECK(*run.requests[i].e2e == SimTime(800'000'000));
    CHECK(*run.requests[i].tpot_ns == Approx(1e8));
  }
  CHECK_FALSE(run.requests[2].e2e);  // its last token is at no known time
  CHECK_FALSE(run.requests[2].tpot_ns);
  CHECK(run.requests[2].ttft);
  CHECK(*run.requests[4].e2e == SimTime(500'000'000));  // one token has no gap
}

TEST_CASE("every list of a result is checked, the errors too, and one that is wrong does not hide another") {
  const workload::TraceFolder folder;
  const std::string good = R"("input_lens": [9, 9], "output_lens": [2, 2], )";
  std::string faults = faults_of(
      folder.write("a.json", "{" + good + R"("start_times": "abc", "ttfts": [null, -1], "itls": null, "errors": 5})"));
  for (const char* fault : {"start_times: found \"abc\", expected a list", "ttfts[0]: found null, expected seconds",
                            "ttfts[1]: found -1, expected seconds", "itls: found null, expected a list",
                            "errors: found 5, expected a list"})
    CHECK(faults.find(fault) != std::string::npos);
  const std::string times = R"("start_times": [0, 1], "ttfts": [1, 1], "itls": [[1], [1]], )";
  faults = faults_of(folder.write("b.json", "{" + good + times + R"("errors": ["", "", ""]})"));
  CHECK(faults.find("errors has 3 entries, start_times 2") != std::string::npos);
  faults = faults_of(folder.write("c.json", "{" + good + times + R"("errors": [{"code": 5}, ""]})"));
  CHECK(faults.find(R"(errors[0]: found {"code":5}, expected a text)") != std::string::npos);
  CHECK(faults_of(folder.write("d.json", "{" + good + times + R"("errors": [null, ""]})")) == "");
  // Of a request that failed the other lists say nothing.
  const std::string lost = R"("start_times": [0, 1], "ttfts": [1, null], "itls": [[1], null], "errors": ["", "reset"])";
  CHECK(faults_of(folder.write("e.json", "{" + good + lost + "}")) == "");
}

TEST_CASE("of many wrong entries of one list the first few are told, and of the next list all the same") {
  const workload::TraceFolder folder;
  std::string nulls = "null";
  std::string ones = "1";
  for (int i = 1; i < 50; ++i) {
    nulls += ",null";
    ones += ",1";
  }
  const std::string faults = faults_of(
      folder.write("r.json", "{\"start_times\": [" + nulls + "], \"input_lens\": [" + ones + "], \"output_lens\": [" +
                                 ones + "], \"ttfts\": [" + nulls + "], \"itls\": [" + nulls + "]}"));
  for (const char* list : {"start_times", "ttfts", "itls"}) {
    CHECK(faults.find(std::string(list) + "[0]: found null") != std::string::npos);
    CHECK(faults.find(std::string(list) + ": 47 more entries like these") != std::string::npos);
  }
}

TEST_CASE("a column that is read and stands twice is a fault at its place; one that is not read may") {
  const workload::TraceFolder folder;
  const std::string path = folder.write(
      "m.csv", "\narrival_s,prompt_tokens,output_tokens,note,ttft_s,e2e_s,note, E2E_s\n0,100,10,a,0.1,1,b,5\n");
  CHECK(faults_of(path) == path + ":2:62: E2E_s: found twice, expected once; the first begins in column 51");
  CHECK(faults_of(folder.write("n.csv", "arrival_s,prompt_tokens,output_tokens,e2e_s,x,x\n0,100,10,1,5,6\n")) == "");
  folder.write("b.blocks.csv", "request_id,block_ids,block_ids\n0,5,6\n");
  CHECK(faults_of(folder.write("b.csv", "request_id,arrival_s,prompt_tokens,output_tokens,e2e_s\n0,0,100,10,1\n"))
            .find("b.blocks.csv:1:22: block_ids: found twice") != std::string::npos);
}

TEST_CASE("a prefix longer than its prompt is cut and counted") {
  const workload::TraceFolder folder;
  const MeasuredRun run =
      read_measured(folder.write("m.csv",
                                 "arrival_s,prompt_tokens,output_tokens,e2e_s,prompt_id,prefix_id,prefix_tokens\n"
                                 "0,100,10,1,1,1,150\n1,100,10,1,1,1,100\n2,100,10,1,1,1,40\n"));
  CHECK(run.file.long_prefix == 1);
  CHECK(run.requests[0].content == run.requests[1].content);
  for (const MeasuredRequest& r : run.requests) {
    std::int64_t tokens = 0;
    for (const TokenRun& part : r.content) tokens += part.count;
    CHECK(tokens == 100);
  }
}

TEST_CASE("lines that end in CR alone are named; CRLF is a line's end") {
  const workload::TraceFolder folder;
  const std::string header = "arrival_s,prompt_tokens,output_tokens,e2e_s";
  const std::string path = folder.write("m.csv", header + "\r0,100,10,1\r1,100,10,1\r");
  CHECK(faults_of(path).find(path + ":1:44: the line ends in CR alone, expected LF or CRLF") != std::string::npos);
  CHECK(faults_of(folder.write("n.csv", header + "\r\n0,100,10,1\r\n")) == "");
}

TEST_CASE("a benchmark's result with failed requests, other lists and its summary; several in one file are refused") {
  const workload::TraceFolder folder;
  const std::string text =
      R"({"backend": "vllm", "num_prompts": 4, "completed": 2, "failed": 2, "request_rate": "inf", "mean_ttft_ms": 375.0,
          "input_lens": [10, 20, 5, 7], "output_lens": [3, 1, 0, 0], "ttfts": [0.25, 0.5, 0.0, 0.0],
          "itls": [[0.1, 0.2], [], [], []], "start_times": [100.5, 100.0, 101.0, 101.5],
          "generated_texts": ["a b c", "d", "", ""], "errors": ["", "", "Connection reset", ""]})";
  const MeasuredRun run = read_measured(folder.write("r.json", text));
  CHECK(run.requests.size() == 2);
  CHECK(run.file.failed == 1);
  CHECK(run.file.without_output == 1);
  CHECK(run.file.out_of_order == 1);
  CHECK(run.file.read ==
        std::vector<std::string>{"errors", "input_lens", "itls", "output_lens", "start_times", "ttfts"});
  CHECK(run.file.not_read == std::vector<std::string>{"generated_texts"});
  CHECK(run.file.shared_by == SharedBy::nothing);
  CHECK(faults_of(folder.write("two.json", text + "\n" + text)).find("two.json:5:1: another result begins here") !=
        std::string::npos);
}

TEST_CASE("a CSV's columns that are read, and those that are not, are known; so is what prompts share by") {
  const workload::TraceFolder folder;
  const auto columns = [&](const std::string& header, const std::string& row) {
    return read_measured(folder.write("m.csv", header + "\n" + row + "\n")).file;
  };
  MeasuredFile file =
      columns("request_id,session,arrival_s,prompt_tokens,output_tokens,e2e_s,prompt_id", "0,5,0,40,2,1,3");
  CHECK(file.read == std::vector<std::string>{"arrival_s", "prompt_tokens", "output_tokens", "e2e_s", "prompt_id"});
  CHECK(file.not_read == std::vector<std::string>{"request_id", "session"});
  CHECK(file.shared_by == SharedBy::prompt_id);
  file = columns("arrival_s,prompt_tokens,output_tokens,e2e_s,prefix_id", "0,40,2,1,3");  // without its length
  CHECK(file.not_read == std::vector<std::string>{"prefix_id"});
  CHECK(file.shared_by == SharedBy::nothing);
  file = columns("arrival_s,prompt_tokens,output_tokens,e2e_s,prefix_id,prefix_tokens", "0,40,2,1,3,20");
  CHECK(file.shared_by == SharedBy::prefix_id);
  // A file of blocks beside it goes before both.
  folder.write("m.blocks.csv", "request_id,block_ids\n0,5 7 9\n");
  file =
      columns("request_id,arrival_s,arrival_measured_s,prompt_tokens,output_tokens,e2e_s,prompt_id", "0,0,1,40,2,1,3");
  CHECK(file.shared_by == SharedBy::blocks);
  CHECK(file.blocks_file.ends_with("m.blocks.csv"));
  CHECK(file.not_read == std::vector<std::string>{"arrival_s", "prompt_id"});
}

TEST_CASE("rows that failed, gave nothing, have no time or stand late are counted, each by itself") {
  const workload::TraceFolder folder;
  const MeasuredFile file = read_measured(folder.write("m.csv",
                                                       "arrival_s,prompt_tokens,output_tokens,e2e_s,error\n"
                                                       "0,10,3,1,\n5,10,3,1,False\n2,10,3,1,0\n3,10,3,,None\n"
                                                       "6,10,0,,\n7,10,,,\n8,10,3,1,Connection reset\n"))
                                .file;
  CHECK(file.failed == 1);
  CHECK(file.without_output == 2);
  CHECK(file.untimed == 1);
  CHECK(file.out_of_order == 2);
}

TEST_CASE("LLMServingSim's request log: requests that never ended failed") {
  const workload::TraceFolder folder;
  const MeasuredRun run = read_measured(folder.write(
      "q.jsonl",
      "{\"request_id\": 0, \"input_toks\": 9, \"output_toks\": 3, \"arrival_time\": 1.7e9, \"queued_ts\": 50.5, "
      "\"first_token_ts\": 51, \"last_token_ts\": 53}\n"
      "{\"request_id\": 1, \"input_toks\": 8, \"output_toks\": 2, \"queued_ts\": 50.0, \"first_token_ts\": null, "
      "\"last_token_ts\": null}\n"
      "{\"request_id\": 2, \"input_toks\": 8, \"output_toks\": 0, \"queued_ts\": 50.0, \"first_token_ts\": 51, "
      "\"last_token_ts\": 51}\n"));
  CHECK(run.requests.size() == 1);
  CHECK(run.file.failed == 1);
  CHECK(run.file.without_output == 1);
  CHECK(run.file.not_read == std::vector<std::string>{"arrival_time", "request_id"});
}

TEST_CASE("LLMServingSim's request log") {
  const workload::TraceFolder folder;
  const MeasuredRun run =
      read_measured(folder.write("q.jsonl",
                                 "{\"request_id\": 0, \"input_toks\": 9, \"output_toks\": 3, \"queued_ts\": 50.5, "
                                 "\"first_token_ts\": 51, \"last_token_ts\": 53}\n"
                                 "{\"request_id\": 1, \"input_toks\": 8, \"output_toks\": 2, \"queued_ts\": 50.0, "
                                 "\"first_token_ts\": 51, \"last_token_ts\": 52}\n"));
  REQUIRE(run.requests.size() == 2);
  CHECK(run.file.format == "llmservingsim");
  CHECK(run.requests[1].arrival == SimTime(500'000'000));
  CHECK(*run.requests[1].ttft == SimTime(500'000'000));
  CHECK(*run.requests[1].tpot_ns == Approx(1e9));
  const std::string faults = faults_of(folder.write("v.jsonl", "{\"input_toks\": 9}\nnot json\n"));
  CHECK(faults.find("v.jsonl:1:1: output_toks: expected a number of tokens") != std::string::npos);
  CHECK(faults.find("v.jsonl:2:1: not a JSON object") != std::string::npos);
}

TEST_CASE("a tpot_s that contradicts the other times gives way to what they say, and its rows are counted") {
  const workload::TraceFolder folder;
  const std::string columns = "arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s,tpot_s\n";
  const MeasuredRun run = read_measured(folder.write("m.csv", columns + "0,10,11,0.5,0.75,0.5\n"  // 25 ms by the others
                                                                        "1,10,11,0.5,0.75,0.026\n"  // rounded
                                                                        "2,10,11,0.5,0.75,\n"       // not measured
                                                                        "3,10,11,,0.75,0.5\n"  // nothing to check it by
                                                                        "4,10,1,0.5,0.5,0.5\n"));  // one token has none
  REQUIRE(run.requests.size() == 5);
  CHECK(*run.requests[0].tpot_ns == Approx(25e6));
  CHECK(*run.requests[1].tpot_ns == Approx(26e6));
  CHECK(*run.requests[2].tpot_ns == Approx(25e6));
  CHECK(*run.requests[3].tpot_ns == Approx(500e6));
  CHECK_FALSE(run.requests[4].tpot_ns);
  CHECK(run.file.other_tpot == 1);
}

TEST_CASE("what a benchmark's result says of its client is kept") {
  const workload::TraceFolder folder;
  const MeasuredRun run = read_measured(folder.write(
      "r.json", R"({"model_id": "org/Name-7B", "request_rate": "inf", "burstiness": 1.0, "max_concurrency": null,
          "input_lens": [10], "output_lens": [2], "ttfts": [0.25], "itls": [[0.1]], "start_times": [0.5]})"));
  const std::vector<std::pair<std::string, std::string>> expected{
      {"model_id", "org/Name-7B"}, {"request_rate", "inf"}, {"burstiness", "1.0"}, {"max_concurrency", "none"}};
  CHECK(run.file.client == expected);
}
