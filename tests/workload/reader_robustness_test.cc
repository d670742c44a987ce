// Bytes that no one meant as a trace: every reader ends in requests or in an InputError, and gzip changes nothing.
#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "sim/base/random.h"
#include "sim/workload/content_store.h"
#include "sim/workload/trace_formats.h"
#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

// What came of reading: the requests, or the error without the file's name.
struct Outcome {
  std::vector<Request> requests;
  std::string error;
};

Outcome outcome_of(const std::string& path, const TraceOptions& options) {
  try {
    return {read_trace(path, options).requests, ""};
  } catch (const InputError& error) {
    std::string told = error.what();
    for (std::size_t at = told.find(path); at != std::string::npos; at = told.find(path))
      told.replace(at, path.size(), "");
    return {{}, told};
  }
}

// A small trace of every format, by its name.
const std::vector<std::pair<std::string, std::string>> kSeeds{
    {"azure",
     "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n2024-05-10 "
     "00:00:00.009930+00:00,396,109\r\n"},
    {"azure-lmm", "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2025-05-10 00:00:00+00:00,2,374,44\n"},
    {"bailian",
     R"({"chat_id":0,"parent_chat_id":-1,"timestamp":0.5,"input_length":20,"output_length":3,"type":"text","turn":1,"hash_ids":[0,1]}
{"chat_id":1,"parent_chat_id":0,"timestamp":1.5,"input_length":40,"output_length":3,"type":"text","turn":2,"hash_ids":[0,2,3]})"},
    {"blis",
     "trace_version: 2\ntime_unit: us\nserver:\n  tp: 1\nrequest_id,tenant_id,slo_class,session_id,prefix_group,prefix_"
     "length,input_tokens,output_tokens,arrival_time_us,status,think_time_us\n0,a,chat,s,g,5,10,4,17,ok,\n1,a,chat,s,g,"
     "5,20,4,30,ok,500\n"},
    {"blockyard",
     "arrival_s,prompt_tokens,output_tokens,max_tokens,priority,tenant,session,reused_tokens,delay_s,category\n"
     "0,374,44,512,-1,2,3,,,a\n4.314489,\"396\",109,,,,3,12,0.5,b\n1e1,1,1,1,0,0,0,,,\n"},
    {"blockyard-jsonl",
     R"({"arrival_s": 0, "prompt_tokens": 600, "output_tokens": 4, "block_tokens": 512, "hash_ids": [0, 1], "category": "x"})"},
    {"burstgpt",
     "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
     "5,,1.5,ChatGPT,472,18,490,Conversation log\n45,7,2,GPT-4,1087,230,1317,API log\n"},
    {"dynamo",
     R"({"timestamp": 5, "session_id": "s", "input_length": 100, "output_length": 9, "trace_block_size": 64, "input_sequence_hashes": [18446744073709551615, 2]})"},
    {"llmservingsim",
     R"({"input_toks": 3, "output_toks": 4, "arrival_time_ns": 5, "input_tok_ids": [1, 2, 3]}
{"session_id": "s", "arrival_time_ns": 9, "sub_requests": [{"input_toks": 3, "output_toks": 4, "tool_duration_ns": 7}, {"input_toks": 9, "output_toks": 4, "tool_duration_ns": 0}]})"},
    {"mooncake",
     "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 500, \"hash_ids\": [0, 1]}\n"
     "{\"timestamp\": 3000.5, \"input_length\": 7, \"output_length\": null}\n"
     "{\"session_id\": 3, \"delay\": 20, \"messages\": [{\"content\": \"hello\"}], \"output_length\": 3}\n"},
    {"openai-log",
     R"({"created": 1700000000, "model": "m", "usage": {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 3}}}
{"created": "2025-01-01T00:00:00Z", "status": "error", "usage": {"prompt_tokens": -1, "completion_tokens": -1}})"},
    {"sharegpt",
     R"([{"id": "a", "conversations": [{"from": "human", "value": "Hi \"you\""}, {"from": "gpt", "value": "Hello"}]},
 {"id": "b", "conversations": []}])"},
    {"splitwise",
     "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n0,2,0,1,1,4096,32\n"},
    {"tracelab",
     R"({"session_id": "s", "input_tokens_total": 30, "prefix_tokens": 10, "newly_append_tokens": 20, "output_tokens": 9, "timing_events": [{"event_type": "user_message", "timestamp": "2026-06-01T05:40:20.151Z"}]})"},
    {"tracelab-replay",
     "session_id,arrival_time,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n0,117,0,0,2318,200,300\n"
     "0,117,1,2518,348,131,154\n"},
    {"vidur", "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n4.314579,396,109\n"},
    {"vllm-bench",
     R"({"completed": 2, "input_lens": [3, 4], "output_lens": [5, 6], "start_times": [0.5, 1.5], "errors": ["", ""]})"},
    {"vllm-timed", "{\"timestamp\": 0, \"input_length\": 20, \"output_length\": 5, \"hash_ids\": [0, 1]}\n"},
    {"weka", R"({"id": "s", "t": 0, "in": 100, "out": 5, "hash_ids": [1, 2]}
{"id": "s", "t": 3.5, "in": 130, "out": 5, "hash_ids": [1, 2], "think_time_s": 1})"}};

std::string mutated(std::string text, RandomStream& random) {
  constexpr std::string_view kPieces[] = {
      "\"",           ",",    "\n", "\r", "{",    "}", "[", "]", ":", "-", ".", "e308", "nan", "9999999999999999999",
      "\xef\xbb\xbf", "\xff", " ",  "0",  "null", "\\"};
  const std::int64_t edits = random.integer(1, 8);
  for (std::int64_t i = 0; i < edits && !text.empty(); ++i) {
    const std::size_t at = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(text.size()) - 1));
    switch (random.integer(0, 3)) {
      case 0:
        text[at] = static_cast<char>(random.integer(0, 255));
        break;
      case 1:
        text.insert(at, kPieces[static_cast<std::size_t>(random.integer(0, std::ssize(kPieces) - 1))]);
        break;
      case 2:
        text.erase(at, static_cast<std::size_t>(random.integer(1, 12)));
        break;
      default:
        text.insert(at, text.substr(at, static_cast<std::size_t>(random.integer(1, 40))));
    }
  }
  return text;
}

TEST_CASE("every format has a seed here, is recognised by it, and reads it whole") {
  std::vector<std::string> names;
  for (const auto& [name, text] : kSeeds) {
    INFO(name);
    names.push_back(name);
    TraceOptions options;
    options.untimed = UntimedRows::keep;
    const std::string by_name = name;
    const bool told_apart = name != "vllm-timed";
    options.format = told_apart ? "auto" : by_name;
    ReadTrace read;
    REQUIRE_NOTHROW(read = read_text(text, options));
    CHECK(read.report.format == name);
    CHECK(read.report.kept > 0);
    CHECK(read.report.bad_rows == 0);
  }
  std::vector<std::string> known;
  for (const TraceFormat& format : trace_formats()) known.emplace_back(format.name);
  CHECK(names == known);
}

TEST_CASE("mutated traces of every format end in requests or an InputError, packed as plain") {
  const TraceFolder folder;
  RandomStream random(1, "mutations");
  std::int64_t read = 0;
  std::int64_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::size_t seed = static_cast<std::size_t>(random.integer(0, std::ssize(kSeeds) - 1));
    const std::string text = mutated(kSeeds[seed].second, random);
    TraceOptions options;
    ContentStore contents;
    if (random.integer(0, 1) == 1) options.format = kSeeds[seed].first;
    if (random.integer(0, 1) == 1) options.contents = &contents;
    options.untimed = random.integer(0, 3) == 0 ? UntimedRows::refuse : UntimedRows::keep;
    options.max_bad_rows = random.integer(0, 2);
    options.reorder_window = random.integer(0, 3);
    const Outcome plain = outcome_of(folder.write("trace", text), options);
    contents = ContentStore();
    const Outcome packed = outcome_of(folder.write_gzip("trace.gz", {text}), options);
    INFO(text);
    REQUIRE(plain.error == packed.error);
    REQUIRE(same(plain.requests, packed.requests));
    for (std::size_t i = 0; i < plain.requests.size(); ++i) {
      REQUIRE(plain.requests[i].arrival >= (i == 0 ? SimTime(0) : plain.requests[i - 1].arrival));
      REQUIRE(plain.requests[i].prompt_tokens > Tokens(0));
      REQUIRE(plain.requests[i].output_tokens > Tokens(0));
    }
    (plain.error.empty() ? read : refused) += 1;
  }
  CHECK(read > 100);
  CHECK(refused > 100);
}

TEST_CASE("random bytes, also behind a gzip magic, end in requests or an InputError") {
  const TraceFolder folder;
  RandomStream random(2, "bytes");
  for (int round = 0; round < 500; ++round) {
    std::string text(static_cast<std::size_t>(random.integer(0, 2000)), '\0');
    for (char& byte : text) byte = static_cast<char>(random.integer(0, 255));
    if (round % 3 == 0) text.insert(0, "\x1f\x8b\x08");
    TraceOptions options;
    const std::span<const TraceFormat> formats = trace_formats();
    options.format = formats[static_cast<std::size_t>(round) % formats.size()].name;
    options.header = round % 2 == 0;
    REQUIRE_NOTHROW(outcome_of(folder.write("trace", text), options));
  }
}

}  // namespace
}  // namespace blockyard::workload
