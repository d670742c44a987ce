// The CSV formats of public traces, each by what its header states.
#include <catch2/catch.hpp>

#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

TEST_CASE("azure multi-modal 2025: a column in the middle, images as the category") {
  const ReadTrace read = read_text(
      "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2025-01-01 00:00:00+00:00,2,900,44\n"
      "2025-01-01 00:00:01.5+00:00,0,100,4\n");
  REQUIRE(read.requests.size() == 2);
  CHECK(read.report.format == "azure-lmm");
  CHECK(read.requests[0].prompt_tokens == Tokens(900));
  CHECK(read.requests[1].arrival == SimTime(1'500'000'000));
  CHECK(read.report.categories[read.requests[0].category] == "images");
  CHECK(read.report.categories[read.requests[1].category] == "text");
}

TEST_CASE("burstgpt: failures are dropped and counted, inserted columns change nothing") {
  const std::string first =
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,0,0,0,API log\n118,GPT-4,417,0,417,Conversation log\n"
      "120,GPT-4,17,9,26,API log\n";
  const std::string third =
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,12,1.5,ChatGPT,472,18,490,Conversation log\n45,,2,ChatGPT,0,0,0,API log\n"
      "118,12,3,GPT-4,417,0,417,Conversation log\n120,,4,GPT-4,17,9,26,API log\n";
  for (const std::string& text : {first, third}) {
    const ReadTrace read = read_text(text);
    REQUIRE(read.requests.size() == 2);
    CHECK(read.report.format == "burstgpt");
    CHECK(read.report.dropped_by_reason[static_cast<std::size_t>(DropReason::zero_prompt)] == 1);
    CHECK(read.report.dropped_by_reason[static_cast<std::size_t>(DropReason::zero_output)] == 1);
    CHECK(read.requests[0].prompt_tokens == Tokens(472));
    CHECK(read.requests[1].arrival == SimTime(115'000'000'000));
    CHECK(read.report.categories == std::vector<std::string>{"", "Conversation log", "API log"});
    CHECK(read.report.category_rows == std::vector<std::int64_t>{0, 2, 2});
    CHECK(read.report.row_span == SimTime(115'000'000'000));
  }
  const ReadTrace sessions = read_text(third);
  CHECK(sessions.requests[0].session == 1);
  CHECK(sessions.requests[1].session == 0);
  // What a prompt repeats of its session is not told.
  CHECK(sessions.requests[0].reused_tokens == 0);
  CHECK(sessions.requests[1].reused_tokens == kWholeSession);
}

TEST_CASE("vidur: seconds, or lengths alone that have no times") {
  const ReadTrace read = read_text("arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n4.314579,396,109\n");
  REQUIRE(read.requests.size() == 2);
  CHECK(read.report.format == "vidur");
  CHECK(read.requests[1].arrival == SimTime(4'314'579'000));
  const std::string alone = "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n374,44,418,8.5\n";
  CHECK(error_of(alone) == "trace:2: the request has no time, only lengths; untimed: keep lets all arrive at 0");
  TraceOptions options;
  options.untimed = UntimedRows::keep;
  CHECK(read_text(alone, options).report.untimed == 1);
}

TEST_CASE("splitwise: seconds, the application as tenant") {
  const ReadTrace read = read_text(
      "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n0,2,0,1,1,4096,32\n"
      "1,2,7,3,1,2048,8\n");
  REQUIRE(read.requests.size() == 2);
  CHECK(read.report.format == "splitwise");
  CHECK(read.requests[0].tenant == 1);
  CHECK(read.requests[1].tenant == 2);
  CHECK(read.requests[1].arrival == SimTime(2'000'000'000));
}

TEST_CASE("splitwise: other types than inference of a language model are no requests") {
  const ReadTrace read = read_text(
      "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n0,2,0,1,1,4096,32\n"
      "1,1,0,3,1,2048,8\n2,,0,4,1,2048,8\n");
  CHECK(read.requests.size() == 2);
  CHECK(read.report.dropped_by_reason[static_cast<std::size_t>(DropReason::not_a_request)] == 1);
}

TEST_CASE("without a header the columns are those of the format's own files, in their order") {
  const std::vector<std::pair<std::string, std::string>> rows{{"azure", "2023-11-16 18:15:46.6805900,374,44"},
                                                              {"azure-lmm", "2025-01-01 00:00:00+00:00,2,374,44"},
                                                              {"blockyard", "0.5,374,44"},
                                                              {"burstgpt", "5,ChatGPT,374,44,418,Conversation log"},
                                                              {"splitwise", "0,2,0,1,1,374,44"},
                                                              {"tracelab-replay", "0,117,0,0,374,44,300"},
                                                              {"vidur", "0.5,374,44"}};
  for (const auto& [format, row] : rows) {
    INFO(format);
    TraceOptions options;
    options.format = format;
    options.header = false;
    const ReadTrace read = read_text(row, options);
    REQUIRE(read.requests.size() == 1);
    CHECK(read.requests[0].prompt_tokens == Tokens(374));
    CHECK(read.requests[0].output_tokens == Tokens(44));
  }
  TraceOptions options;
  options.format = "splitwise";
  options.header = false;
  CHECK(error_of("1,4096,32\n", options) ==
        "trace:1:10: the row has 3 of 7 fields (without a header: "
        "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size)");
}

TEST_CASE("tracelab replay: prompts are whole, a round waits for the tool behind the round before") {
  const std::string text =
      "session_id,arrival_time,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n"
      "0,117,0,0,2318,200,300\n0,117,1,2518,348,131,154\n1,393,0,0,861,107,0\n";
  CHECK(error_of(text).find("trace:3: the request has no time") == 0);
  TraceOptions options;
  options.untimed = UntimedRows::keep;
  const ReadTrace read = read_text(text, options);
  REQUIRE(read.requests.size() == 3);
  CHECK(read.report.format == "tracelab-replay");
  CHECK(read.requests[0].delay == kAtArrival);
  CHECK(read.requests[0].session != 0);
  CHECK(read.requests[1].prompt_tokens == Tokens(2866));
  CHECK(read.requests[1].reused_tokens == 2518);
  CHECK(read.requests[1].delay == SimTime(300'000'000));
  CHECK(read.requests[2].arrival == SimTime(276'000'000));
  CHECK(read.report.stated_reuse == Tokens(2518));
  const ReadTrace untimed =
      read_text("session_id,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n0,0,5,9,3,28\n", options);
  CHECK(untimed.report.untimed == 1);
}

TEST_CASE(
    "blis: us, the YAML header above or away, shared beginnings, failed rows, think times behind the first round") {
  const std::string rows =
      "request_id,client_id,tenant_id,slo_class,session_id,round_index,prefix_group,prefix_length,input_tokens,"
      "output_tokens,arrival_time_us,send_time_us,status,think_time_us\n"
      "0,c,acme,batch,s,0,sys,50,100,20,1000,1500,ok,700\n1,c,beta,chat,s,1,sys,50,200,20,3000,3000,ok,700\n"
      "2,c,beta,chat,,0,,0,200,20,4000,4000,error,0\n";
  for (const std::string& text : {rows, "trace_version: 2\ntime_unit: us\nserver:\n  tp: 1\n" + rows}) {
    const ReadTrace read = read_text(text);
    REQUIRE(read.requests.size() == 2);
    CHECK(read.report.format == "blis");
    CHECK(read.requests[1].arrival == SimTime(2'000'000));
    CHECK(read.requests[1].prefix == read.requests[0].prefix);
    CHECK(read.requests[1].prefix_tokens == 50);
    CHECK(read.requests[0].delay == kAtArrival);
    CHECK(read.requests[1].delay == SimTime(700'000));
    CHECK(read.requests[1].tenant == 2);
    CHECK(read.report.categories[read.requests[1].category] == "chat");
    CHECK(read.report.dropped_by_reason[static_cast<std::size_t>(DropReason::failed)] == 1);
  }
  CHECK(error_of("trace_version: 2\ntime_unitt: us\n" + rows)
            .find("trace:2:1: found \"time_unitt: us\", expected a key") == 0);
  CHECK(error_of("trace_version: 2\ntime_unit: ms\n" + rows) ==
        "trace:2:1: time_unit: found \"ms\", expected microseconds");
  for (const char* header :
       {"# made by hand\n---\ntrace_version: 2\n", "time_unit: \"us\"  # not ms\ntrace_version: 2\n",
        "\"trace_version\": 2\n'time_unit': 'us' # \"x\"\n"}) {
    INFO(header);
    CHECK(read_text(header + rows).report.format == "blis");
  }
  CHECK(error_of("trace_version: 2\n") == "trace: no columns arrival_time_us, input_tokens and output_tokens");
}

}  // namespace
}  // namespace blockyard::workload
