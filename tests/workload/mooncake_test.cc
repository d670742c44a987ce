#include <catch2/catch.hpp>

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

TEST_CASE("mooncake ids may count the partial last block or leave it out") {
  CHECK(read_text(row_with(6758, 14) + row_with(6758, 13) + row_with(1024, 2) + row_with(100, 0)).requests.size() == 4);
}

TEST_CASE("a wrong count of mooncake ids names the line, the count and the expected count") {
  CHECK(error_of(row_with(6758, 14) + row_with(6758, 423)) ==
        "trace:2:60: hash_ids: found 423 ids, expected 14 for input_length 6758 in blocks of 512 tokens");
  CHECK(error_of(row_with(1024, 0)).find("found 0 ids, expected 2") != std::string::npos);
  CHECK(error_of(row_with(1024, 1)).find("found 1 ids, expected 2") != std::string::npos);
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
  CHECK(error("{\"input_length\": 3, \"output_length\": 4}") == "trace:2:1: no key \"timestamp\"");
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

TEST_CASE("other JSON lines are not taken for mooncake: the unit of time belongs to the format") {
  CHECK(
      error_of("{\"chat_id\":0,\"parent_chat_id\":-1,\"timestamp\":0.0,\"input_length\":502,\"output_length\":1494}\n")
          .find("no known trace format") != std::string::npos);
}

}  // namespace
}  // namespace blockyard::workload
