#include <catch2/catch.hpp>

#include "sim/workload/content_store.h"
#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

TEST_CASE("mooncake rows: ms, lengths, keys in any order, others ignored, equal times in file order") {
  const ReadTrace read = read_text(
      "{\"timestamp\": 5, \"input_length\": 6758, \"output_length\": 500, \"hash_ids\": "
      "[0,1,2,3,4,5,6,7,8,9,10,11,12,13]}\n"
      "\n"
      "{\"hash_ids\": [0], \"extra\": {\"a\": [1, 2]}, \"output_length\":2,\"input_length\":1,\"timestamp\":5.25}\r\n"
      "  {\"timestamp\": 5.25, \"input_length\": 3, \"output_length\": 4}");
  REQUIRE(read.requests.size() == 3);
  CHECK(read.report.format == "mooncake");
  CHECK(read.report.prefix_ids == 15);
  CHECK(read.requests[0].prompt_tokens == Tokens(6758));
  CHECK(read.requests[0].output_tokens == Tokens(500));
  CHECK(read.requests[1].arrival == SimTime(250'000));
  CHECK(read.requests[1].prompt_tokens == Tokens(1));
  CHECK(read.requests[2].prompt_tokens == Tokens(3));
}

std::string row_with(int tokens, std::size_t ids) {
  std::string row =
      "{\"timestamp\": 0, \"input_length\": " + std::to_string(tokens) + ", \"output_length\": 1, \"hash_ids\": [";
  for (std::size_t i = 0; i < ids; ++i) row += (i == 0 ? "" : ", ") + std::to_string(i);
  return row + "]}\n";
}

TEST_CASE("mooncake ids count every begun block; without the partial last one only on request") {
  CHECK(read_text(row_with(6758, 14) + row_with(1024, 2) + row_with(100, 1)).requests.size() == 3);
  const std::string full_only = row_with(6758, 13) + row_with(1024, 2) + row_with(100, 0);
  CHECK(error_of(row_with(6758, 13)) ==
        "trace:1:60: hash_ids: found 13 ids, expected 14 for input_length 6758 in blocks of 512 tokens; without an id "
        "for the partial last block it is read with partial_ids: floor");
  CHECK(error_of(row_with(1000, 1)).find("found 1 ids, expected 2 for input_length 1000") != std::string::npos);
  TraceOptions options;
  options.partial_ids = PartialIds::floor;
  CHECK(read_text(full_only, options).requests.size() == 3);
  CHECK(error_of(row_with(6758, 14), options).find("found 14 ids, expected 13") != std::string::npos);
  options.partial_ids = PartialIds::either;
  CHECK(read_text(full_only + row_with(6758, 14), options).requests.size() == 4);
}

TEST_CASE("a wrong count of mooncake ids names the line, the count, the expected count and the block size that fits") {
  CHECK(error_of(row_with(6758, 14) + row_with(6758, 423)) ==
        "trace:2:60: hash_ids: found 423 ids, expected 14 for input_length 6758 in blocks of 512 tokens; blocks of 16 "
        "tokens would fit: hash_block: 16");
  CHECK(error_of(row_with(1024, 0)).find("found 0 ids, expected 2") != std::string::npos);
  CHECK(error_of(row_with(1024, 1)).find("found 1 ids, expected 2") != std::string::npos);
  TraceOptions options;
  options.hash_block = 16;
  CHECK(read_text(row_with(6758, 423), options).report.hash_block == 16);
  options.hash_block = 0;
  options.format = "vllm-timed";
  CHECK(read_text(row_with(6758, 423), options).requests.size() == 1);
}

TEST_CASE("an id of 23 digits is told as it stands") {
  TraceOptions options;
  ContentStore store;
  options.contents = &store;
  CHECK(error_of("{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 1, \"hash_ids\": "
                 "[12345678901234567890123]}\n",
                 options)
            .find("hash_ids: found \"12345678901234567890123\", expected whole numbers from 0 to 1000000000000") !=
        std::string::npos);
}

TEST_CASE("mooncake with sessions: the first turn at its time, the others when the one before is answered") {
  const std::string text =
      "{\"session_id\": \"a\", \"timestamp\": 1000, \"input_length\": 100, \"output_length\": 10}\n"
      "{\"session_id\": \"a\", \"delay\": 500, \"input_length\": 150, \"output_length\": 10}\n"
      "{\"session_id\": \"b\", \"timestamp\": 1500.5, \"text_input\": \"twelve chars\", \"output_length\": 3}\n"
      "{\"session_id\": \"b\", \"input_length\": 9, \"output_length\": 4}\n";
  CHECK(error_of(text).find("trace:2: the request has no time: it is sent when the answer") == 0);
  TraceOptions options;
  options.untimed = UntimedRows::keep;
  const ReadTrace read = read_text(text, options);
  REQUIRE(read.requests.size() == 4);
  CHECK(read.report.format == "mooncake");
  CHECK(read.report.untimed == 2);
  CHECK(read.report.waiting == 2);
  CHECK(read.requests[0].delay == kAtArrival);
  CHECK(read.requests[1].delay == SimTime(500'000'000));
  CHECK(read.requests[1].arrival == read.requests[0].arrival);
  CHECK(read.requests[1].session == read.requests[0].session);
  CHECK(read.requests[2].prompt_tokens == Tokens(3));
  CHECK(read.requests[2].arrival == SimTime(500'500'000));
  CHECK(read.requests[3].delay == SimTime(0));
  CHECK(read.requests[3].session != read.requests[0].session);
}

TEST_CASE("mooncake lengths that are missing, null, zero or negative follow the lengths policy") {
  const ReadTrace read = read_text(
      "{\"timestamp\": 0, \"input_length\": 3, \"output_length\": 4}\n"
      "{\"timestamp\": 1, \"input_length\": 3}\n"
      "{\"timestamp\": 2, \"input_length\": null, \"output_length\": 4}\n"
      "{\"timestamp\": 3, \"input_length\": 3, \"output_length\": 0}\n"
      "{\"timestamp\": 4, \"input_length\": -1, \"output_length\": -1}\n");
  CHECK(read.report.kept == 1);
  CHECK(read.report.dropped_by_reason == std::array<std::int64_t, kDropReasons>{2, 1, 0, 1});
}

TEST_CASE("malformed mooncake rows are told with their place") {
  const std::string good = "{\"timestamp\": 0, \"input_length\": 3, \"output_length\": 4}\n";
  const auto error = [&](const std::string& row) { return error_of(good + row + "\n"); };
  CHECK(error("{\"input_length\": 3, \"output_length\": 4}") ==
        "trace:2:1: no key \"timestamp\", and no \"session_id\" whose turns need none");
  CHECK(error("{\"timestamp\": -1, \"input_length\": 3, \"output_length\": 4}") ==
        "trace:2:2: timestamp: found \"-1\", a negative arrival");
  CHECK(error("{\"timestamp\": 1e308, \"input_length\": 3, \"output_length\": 4}") ==
        "trace:2:2: timestamp: found \"1e308\", too large");
  CHECK(error("{\"timestamp\": NaN, \"input_length\": 3, \"output_length\": 4}") ==
        "trace:2:2: timestamp: found \"NaN\", not a number");
  CHECK(error("{\"timestamp\": 0, \"input_length\": 3.5, \"output_length\": 4}") ==
        "trace:2:18: input_length: found \"3.5\", expected a whole number");
  CHECK(error("{\"timestamp\": 0, \"input_length\": 1e12, \"output_length\": 4}") ==
        "trace:2:18: input_length: found \"1e12\", more than 1,000,000,000 tokens");
  for (const char* row : {"{\"timestamp\": 0, \"input_length\": 3, \"output_le", "[1, 2]", "17", "{", "}", "{]",
                          "{\"timestamp\": 0, \"input_length\": 3, \"output_length\": 4} {}",
                          "{\"timestamp\": 0, \"input_length\": 3, \"output_length\": 4, \"hash_ids\": 7}",
                          "{\"timestamp\": 0, \"input_length\": {\"a\": 1}, \"output_length\": 4}",
                          "{\"timestamp\": 0, \"input_length\": 3, \"output_length\": 4, \"hash_ids\": [1, 2}",
                          "{\"timestamp\": 0 \"input_length\": 3}", "\xff\xfe"}) {
    INFO(row);
    CHECK(error(row).find("trace:2:") == 0);
  }
}

}  // namespace
}  // namespace blockyard::workload
