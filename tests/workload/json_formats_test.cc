// The JSON formats of public traces, each by what its header states.
#include <catch2/catch.hpp>

#include "sim/workload/content_store.h"
#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

TraceOptions keeping_untimed() {
  TraceOptions options;
  options.untimed = UntimedRows::keep;
  return options;
}

TEST_CASE("bailian: seconds, 16-token ids, rows of one conversation are one session at their own times") {
  const ReadTrace read = read_text(
      R"({"chat_id":0,"parent_chat_id":-1,"timestamp":0.0,"input_length":20,"output_length":14,"type":"thinking","turn":1,"hash_ids":[0,1]}
{"chat_id":5,"parent_chat_id":-1,"timestamp":0.25,"input_length":16,"output_length":3,"type":"text","turn":1,"hash_ids":[7]}
{"chat_id":9,"parent_chat_id":0,"timestamp":2.5,"input_length":40,"output_length":3,"type":"thinking","turn":2,"hash_ids":[0,2,3]}
)");
  REQUIRE(read.requests.size() == 3);
  CHECK(read.report.format == "bailian");
  CHECK(read.report.hash_block == 16);
  CHECK(read.report.waiting == 0);
  CHECK(read.requests[2].arrival == SimTime(2'500'000'000));
  CHECK(read.requests[2].session == read.requests[0].session);
  CHECK(read.requests[1].session != read.requests[0].session);
  CHECK(read.report.categories[read.requests[1].category] == "text");
  CHECK(error_of(R"({"chat_id":0,"timestamp":0.0,"input_length":502,"output_length":14,"hash_ids":[0]})") ==
        "trace:1:68: hash_ids: found 1 ids, expected 32 for input_length 502 in blocks of 16 tokens; blocks of 512 "
        "tokens would fit: hash_block: 512");
}

TEST_CASE("dynamo: 64-bit hashes become ids, one block size a file, other events are left out and counted") {
  ContentStore store;
  TraceOptions options;
  options.contents = &store;
  const ReadTrace read = read_text(
      R"({"event_type":"request_end","event_time_unix_ms":1700000000500,"agent_context":{"session_id":"s"},"request":{"request_received_ms":1700000000000,"input_tokens":130,"output_tokens":9,"replay":{"trace_block_size":64,"input_length":130,"input_sequence_hashes":[18446744073709551615,17,3]}}}
{"event_type":"tool_end","event_time_unix_ms":1700000000600,"agent_context":{"session_id":"s"},"tool":{"name":"x"}}
{"event_type":"request_end","event_time_unix_ms":1700000002500,"agent_context":{"session_id":"s"},"request":{"request_received_ms":1700000002000,"input_tokens":70,"output_tokens":9,"replay":{"trace_block_size":64,"input_length":70,"input_sequence_hashes":[18446744073709551615]}}}
)",
      options);
  REQUIRE(read.requests.size() == 2);
  CHECK(read.report.format == "dynamo");
  CHECK(read.report.dropped_by_reason[static_cast<std::size_t>(DropReason::not_a_request)] == 1);
  CHECK(read.requests[1].arrival == SimTime(2'000'000'000));
  CHECK(store.at(read.requests[0].content) == Content{{0, 130}});
  CHECK(store.at(read.requests[1].content) == Content{{0, 64}});
  CHECK(
      error_of(R"({"timestamp":0,"input_length":64,"output_length":1,"trace_block_size":64,"input_sequence_hashes":[1]}
{"timestamp":0,"input_length":64,"output_length":1,"trace_block_size":16,"input_sequence_hashes":[1,2,3,4]})")
          .find("trace_block_size: found 16, expected 64 as in the rows above") != std::string::npos);
}

TEST_CASE("weka: an id means something within its conversation only; floor and ceil counts are both read") {
  ContentStore store;
  TraceOptions options;
  options.contents = &store;
  const ReadTrace read = read_text(R"({"id":"a","t":0,"in":100,"out":5,"hash_ids":[1,2]}
{"id":"b","t":1.5,"in":130,"out":5,"hash_ids":[1,2]}
{"id":"a","t":3,"in":128,"out":5,"hash_ids":[1,2],"think_time_s":0.5}
)",
                                   options);
  REQUIRE(read.requests.size() == 3);
  CHECK(read.report.format == "weka");
  CHECK(store.at(read.requests[0].content) == Content{{0, 100}});
  CHECK(store.at(read.requests[1].content) == Content{{128, 128}});
  CHECK(store.at(read.requests[2].content) == Content{{0, 128}});
  CHECK(read.requests[2].delay == SimTime(500'000'000));
  CHECK(error_of(R"({"id":"a","t":0,"in":100,"out":5,"hash_ids":[1,2,3]})").find("found 3 ids, expected 2 or 1") !=
        std::string::npos);
  const ReadTrace nested = read_text(
      R"([{"id":"a","requests":[{"t":0,"in":10,"out":5},{"t":2,"in":20,"out":5}]}, {"id":"b","requests":[{"t":1,"in":30,"out":5}]}])");
  REQUIRE(nested.requests.size() == 3);
  CHECK(nested.requests[1].prompt_tokens == Tokens(30));
  CHECK(nested.requests[2].session == nested.requests[0].session);
}

TEST_CASE("llmservingsim: flat, agentic and its log; ids of tokens name full blocks") {
  ContentStore store;
  TraceOptions options = keeping_untimed();
  options.contents = &store;
  options.hash_block = 2;
  const ReadTrace flat =
      read_text(R"({"input_toks":5,"output_toks":4,"arrival_time_ns":1000,"input_tok_ids":[7,8,9,10,11]}
{"input_toks":4,"output_toks":4,"arrival_time_ns":3000,"input_tok_ids":[7,8,10,9]}
)",
                options);
  REQUIRE(flat.requests.size() == 2);
  CHECK(flat.report.format == "llmservingsim");
  CHECK(flat.requests[1].arrival == SimTime(2000));
  CHECK(store.at(flat.requests[0].content) == Content{{0, 4}});
  CHECK(store.at(flat.requests[1].content) == Content{{0, 2}, {4, 2}});

  const ReadTrace agentic = read_text(
      R"({"session_id":"s","arrival_time_ns":9,"sub_requests":[{"input_toks":3,"output_toks":4,"tool_duration_ns":7},{"input_toks":9,"output_toks":4,"tool_duration_ns":2},{"input_toks":9,"output_toks":4,"tool_duration_ns":0}]})",
      keeping_untimed());
  REQUIRE(agentic.requests.size() == 3);
  CHECK(agentic.requests[0].delay == kAtArrival);
  CHECK(agentic.requests[1].delay == SimTime(7));
  CHECK(agentic.requests[2].delay == SimTime(2));
  CHECK(agentic.report.untimed == 2);

  const ReadTrace log =
      read_text(R"({"request_id":"0","input_toks":3,"output_toks":4,"arrival_time":1700000000.25,"queued_ts":5.5}
{"request_id":"1","input_toks":3,"output_toks":4,"arrival_time":1700000001.5,"queued_ts":6.5})");
  REQUIRE(log.requests.size() == 2);
  CHECK(log.requests[1].arrival == SimTime(1'250'000'000));
}

TEST_CASE("openai logs: seconds, dates and strings of ns; failures are left out and counted") {
  const ReadTrace read = read_text(
      R"({"id":"x","created":1700000000,"model":"m","user":"u","usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":3}}}
{"created":"2023-11-14T22:13:21.5Z","status":"completed","usage":{"prompt_tokens":20,"completion_tokens":5}}
{"created":"1700000002000000001","usage":{"prompt_tokens":30,"completion_tokens":5}}
{"created":1700000003,"status":"ERROR","usage":{"prompt_tokens":-1,"completion_tokens":-1}}
{"created":1700000003,"usage":{"prompt_tokens":-1,"completion_tokens":-1}}
{"response":{"status_code":200,"body":{"created":1700000004,"usage":{"prompt_tokens":40,"completion_tokens":6}}}}
)");
  REQUIRE(read.requests.size() == 4);
  CHECK(read.report.format == "openai-log");
  CHECK(read.requests[1].arrival == SimTime(1'500'000'000));
  CHECK(read.requests[2].arrival == SimTime(2'000'000'001));
  CHECK(read.requests[3].prompt_tokens == Tokens(40));
  CHECK(read.report.stated_reuse == Tokens(3));
  CHECK(read.report.dropped_by_reason[static_cast<std::size_t>(DropReason::failed)] == 1);
  CHECK(read.report.dropped_by_reason[static_cast<std::size_t>(DropReason::negative_length)] == 1);
}

TEST_CASE("sharegpt: the first two turns, 4 characters a token, on one line or over many") {
  const std::string compact =
      R"([{"id":"a","conversations":[{"from":"human","value":"äöü\n\"x\""},{"from":"gpt","value":"12345678"},{"from":"human","value":"more"}]},{"id":"b","conversations":[{"from":"human","value":"alone"}]},{"id":"c","conversations":[{"from":"human","value":"x"},{"from":"gpt","value":""}]}])";
  CHECK(error_of(compact).find("the request has no time, only lengths") != std::string::npos);
  std::string spread;
  for (const char c : compact) spread += c == ',' ? ",\n  " : std::string(1, c);
  for (const std::string& text : {compact, spread}) {
    const ReadTrace read = read_text(text, keeping_untimed());
    REQUIRE(read.requests.size() == 1);
    CHECK(read.report.format == "sharegpt");
    CHECK(read.requests[0].prompt_tokens == Tokens(2));  // 7 characters
    CHECK(read.requests[0].output_tokens == Tokens(2));
    CHECK(read.report.dropped_by_reason[static_cast<std::size_t>(DropReason::not_a_request)] == 2);
  }
}

TEST_CASE("vllm-bench: arrays by request, failed ones left out, counts that differ refused") {
  const ReadTrace read = read_text(
      "{\"date\": \"x\", \"completed\": 3, \"total_input_tokens\": 12,\n \"input_lens\": [3, 4, 5], \"output_lens\": "
      "[5, 6, "
      "7],\n \"start_times\": [10.5, 11.5, 12.0], \"itls\": [[0.1], [], []], \"errors\": [\"\", \"timed out\", "
      "\"\"]}\n");
  REQUIRE(read.requests.size() == 2);
  CHECK(read.report.format == "vllm-bench");
  CHECK(read.requests[1].arrival == SimTime(1'500'000'000));
  CHECK(error_of("{\"input_lens\": [3, 4], \"output_lens\": [5]}").find("output_lens: found 1 values, expected 2") !=
        std::string::npos);
}

TEST_CASE("null is no ids, an empty list is none of them, and a key comes once") {
  for (const char* row :
       {R"({"chat_id":0,"timestamp":0,"input_length":20,"output_length":4,"hash_ids":null})",
        R"({"timestamp":0,"input_length":20,"output_length":4,"hash_ids":null})",
        R"({"arrival_s":0,"prompt_tokens":20,"output_tokens":4,"hash_ids":null})",
        R"({"id":"a","t":0,"in":20,"out":4,"hash_ids":null})",
        R"({"timestamp":0,"input_length":20,"output_length":4,"trace_block_size":16,"input_sequence_hashes":null})"}) {
    INFO(row);
    CHECK(read_text(row).report.prefix_ids == 0);
  }
  CHECK(error_of(R"({"timestamp":0,"input_length":20,"output_length":4,"hash_ids":[]})")
            .find("hash_ids: found 0 ids, expected 1") != std::string::npos);
  CHECK(error_of(R"({"timestamp":0,"input_length":20,"output_length":4,"hash_ids":[1],"hash_ids":[1]})")
            .find("hash_ids: given twice") != std::string::npos);
  CHECK(error_of(R"({"timestamp":0,"input_length":20,"output_length":4,"hash_ids":7})") ==
        "trace:1:52: hash_ids: found \"7\", expected an array");
}

TEST_CASE("a record that is refused does not say how large blocks are") {
  TraceOptions options;
  options.max_bad_rows = 1;
  const ReadTrace own = read_text(
      R"({"arrival_s":0,"prompt_tokens":20,"output_tokens":4,"block_tokens":64,"hash_ids":[0,1]}
{"arrival_s":1,"prompt_tokens":20,"output_tokens":4,"block_tokens":16,"hash_ids":[0,1]})",
      options);
  CHECK(own.requests.size() == 1);
  CHECK(own.report.hash_block == 16);
  CHECK(own.report.first_bad_rows.size() == 1);
  const ReadTrace dynamo = read_text(
      R"({"timestamp":0,"input_length":20,"output_length":4,"trace_block_size":64,"input_sequence_hashes":[1,2]}
{"timestamp":0,"input_length":20,"output_length":4,"trace_block_size":16,"input_sequence_hashes":[1,2]})",
      options);
  CHECK(dynamo.requests.size() == 1);
  CHECK(dynamo.report.hash_block == 16);
}

TEST_CASE("rows that are left out and have no time do not stretch the trace to the epoch") {
  const ReadTrace dynamo = read_text(
      R"({"event_type":"request_end","agent_context":{"session_id":"s"},"request":{"request_received_ms":1700000000000,"input_tokens":13,"output_tokens":9}}
{"event_type":"tool_end","agent_context":{"session_id":"s"},"tool":{"name":"x"}}
{"event_type":"request_end","agent_context":{"session_id":"s"},"request":{"request_received_ms":1700000002000,"input_tokens":13,"output_tokens":9}}
)");
  CHECK(dynamo.report.row_span == SimTime(2'000'000'000));
  CHECK(dynamo.report.timed_rows == 2);
  const ReadTrace log = read_text(
      R"({"created":1700000000,"usage":{"prompt_tokens":10,"completion_tokens":5}}
{"error":{"code":500},"usage":{"prompt_tokens":10,"completion_tokens":0}}
{"created":1700000003,"usage":{"prompt_tokens":10,"completion_tokens":5}})");
  CHECK(log.report.row_span == SimTime(3'000'000'000));
  CHECK(log.report.timed_rows == 2);
}

TEST_CASE("llmservingsim: a prompt has as many tokens as it says") {
  CHECK(error_of(R"({"input_toks":5,"output_toks":4,"arrival_time_ns":1000,"input_tok_ids":[7,8,9]})") ==
        "trace:1:56: input_tok_ids: found 3 ids, expected 5 as input_toks says");
  CHECK(error_of(R"({"arrival_time_ns":9,"sub_requests":[{"input_tok_ids":[1,2,3,4],"input_toks":3,"output_toks":4}]})")
            .find("found 4 ids, expected 3") != std::string::npos);
}

TEST_CASE("openai logs: created is in seconds, however it is quoted; other units by their keys") {
  const ReadTrace read = read_text(
      R"({"created":1700000000,"usage":{"prompt_tokens":10,"completion_tokens":5}}
{"created":"1700000001","usage":{"prompt_tokens":10,"completion_tokens":5}}
{"created_at":"1700000002.5","usage":{"prompt_tokens":10,"completion_tokens":5}}
{"timestamp_ms":"1700000003250","usage":{"prompt_tokens":10,"completion_tokens":5}}
{"timestamp":"1700000004000000001","usage":{"prompt_tokens":10,"completion_tokens":5}}
)");
  REQUIRE(read.requests.size() == 5);
  CHECK(read.requests[1].arrival == SimTime(1'000'000'000));
  CHECK(read.requests[2].arrival == SimTime(2'500'000'000));
  CHECK(read.requests[3].arrival == SimTime(3'250'000'000));
  CHECK(read.requests[4].arrival == SimTime(4'000'000'001));
  CHECK(error_of(R"({"created":"1700000000000","usage":{"prompt_tokens":10,"completion_tokens":5}})")
            .find("created: found \"1700000000000\", too large") != std::string::npos);
}

TEST_CASE("what is no JSON is said in our words, with its place") {
  const std::string first = "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1}\n";
  const auto second = [&](std::string_view line) { return error_of(first + std::string(line)); };
  CHECK(second("nothing") == "trace:2:1: not a JSON object: another kind of value than expected");
  CHECK(second("{\"timestamp\": 0, \"input_length") ==
        "trace:2:1: not a JSON object: a string without its closing quote");
  CHECK(second("{\"timestamp\": 0, \"input_length\" 7}").find("trace:2:2: not a JSON object: a bracket, a comma") == 0);
  CHECK(second("{\"timestamp\": \"\xff\"}") == "trace:2:1: not a JSON object: bytes that are not UTF-8");
}

TEST_CASE("JSON whose first line is cut off is told as such") {
  const std::string line = R"({"timestamp": 0, "input_length": 10, "output_length": 1})";
  CHECK(error_of(line.substr(0, 12)).find("trace:1: the file ends inside its first JSON record; found") == 0);
  CHECK(error_of(line.substr(9) + "\n" + line + "\n")
            .find("trace:1: the front of the first line is missing: the lines below it are JSON; found") == 0);
  const std::string behind = line.substr(0, line.size() - 1) + "\n" + line + "\n";
  CHECK(error_of(behind).find("trace:1:") == 0);
  TraceOptions options;
  options.max_bad_rows = 1;
  CHECK(read_text(behind, options).requests.size() == 1);
  CHECK(read_text(behind, options).report.format == "mooncake");
}

TEST_CASE("JSON documents: records over several lines keep their places in errors") {
  const std::string open = "[\n {\"arrival_s\": 0, \"prompt_tokens\": 1, \"output_tokens\": 1},\n ";
  CHECK(read_text(open + "{\"arrival_s\": 1,\n\"prompt_tokens\": 2, \"output_tokens\": 1}\n]\n").requests.size() == 2);
  CHECK(error_of(open + "{\"arrival_s\": 1,\n  \"prompt_tokens\": 2.5, \"output_tokens\": 1}\n]\n") ==
        "trace:4:3: prompt_tokens: found \"2.5\", expected a whole number");
  CHECK(error_of(open) == "trace:3: the file ends inside its JSON array");
  CHECK(error_of(open + "{\"arrival_s\": 1") == "trace:3: the file ends inside the JSON object that begins in line 3");
  CHECK(error_of(open + "{}{}]").find("expected a comma between the elements") != std::string::npos);
  CHECK(error_of(open + "17]").find("trace:3: expected a JSON object") == 0);
  CHECK(error_of(open + "{\"arrival_s\": 1, \"prompt_tokens\": 2, \"output_tokens\": 1}] x") ==
        "trace:3: text behind the JSON array");
}

}  // namespace
}  // namespace blockyard::workload
