// Files made to do harm, or damaged on their way: each ends in one clear error, soon and in little memory.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

constexpr std::string_view kHeader = "arrival_s,prompt_tokens,output_tokens\n";

TEST_CASE("a line without end is refused at 16 MiB, whatever the format") {
  const std::string endless(std::size_t{17} << 20, '7');
  const TraceFolder folder;
  CHECK(error_of(std::string(kHeader) + endless).find("trace:2: the line is longer than 16777216 bytes") == 0);
  CHECK(error_of(endless).find("trace:1: the line is longer than 16777216 bytes") == 0);
  const std::string record = R"({"timestamp": 0, "input_length": 1, "output_length": 1)";
  CHECK(error_of(record + "}\n" + record + endless).find("trace:2: the line is longer than") == 0);
  CHECK(error_of("[" + record + "},\n" + record + endless + "}]").find("trace:2: the JSON object is longer than") == 0);
  // Packed, 64 MiB of one line are a few kilobytes.
  const std::string bomb = zstd_frame(std::string(kHeader) + std::string(std::size_t{64} << 20, ' '));
  CHECK(bomb.size() < 100'000);
  CHECK(error_of(bomb).find("trace:2: the line is longer than") == 0);
}

TEST_CASE("counts that a file states are not believed") {
  CHECK(read_text(R"({"completed": 1000000000, "total_input_tokens": 5, "num_prompts": 1000000000,
      "input_lens": [5], "output_lens": [3], "start_times": [1.0]})")
            .requests.size() == 1);
  CHECK(error_of(R"({"completed": 1000000000, "total_input_tokens": 5})").find("no key \"input_lens\"") !=
        std::string::npos);
  // A zstd frame whose header asks for a window of 2^41 bytes (RFC 8878: window descriptor 0xf8).
  const std::string frame("\x28\xb5\x2f\xfd\x00\xf8\x01\x00\x00", 9);
  CHECK(error_of(frame).find("the zstd file is damaged: Frame requires too much memory") != std::string::npos);
}

TEST_CASE("depth without bound is refused") {
  const std::string open(100'000, '[');
  CHECK_FALSE(error_of(open).empty());
  std::string nested = R"({"timestamp": 0, "input_length": 1, "output_length": 1, "x": )";
  for (int i = 0; i < 5000; ++i) nested += "{\"a\":";
  CHECK_FALSE(error_of(nested).empty());
}

TEST_CASE("numbers that are none, or too large, or negative, end with their place in every kind of file") {
  for (const char* time : {"1e308", "nan", "NaN", "inf", "-inf", "-1", "1e-", "0x10", "9223372036854775808"}) {
    INFO(time);
    CHECK(error_of(fmt::format("{}{},1,1\n", kHeader, time)).find("trace:2:1: arrival_s: found \"") == 0);
    CHECK(error_of(fmt::format("Timestamp,Request tokens,Response tokens\n{},1,1\n", time))
              .find("trace:2:1: Timestamp") == 0);
    CHECK(
        error_of(fmt::format(R"({{"timestamp": {}, "input_length": 1, "output_length": 1}})", time)).find("trace:1:") ==
        0);
    CHECK(error_of(fmt::format(R"({{"id": "a", "t": {}, "in": 1, "out": 1}})", time)).find("trace:1:") == 0);
  }
  for (const char* tokens : {"1e308", "nan", "1.5", "99999999999999999999999"}) {
    INFO(tokens);
    CHECK(error_of(fmt::format("{}0,{},1\n", kHeader, tokens)).find("trace:2:3: prompt_tokens: found \"") == 0);
    CHECK(error_of(fmt::format(R"({{"timestamp": 0, "input_length": {}, "output_length": 1}})", tokens))
              .find("trace:1:18: input_length: found \"") == 0);
  }
}

TEST_CASE("NUL bytes end with their line, in lines and in documents") {
  const std::string nul(3, '\0');
  CHECK(error_of(std::string(kHeader) + "0,1,1\n" + nul).find("trace:3: a NUL byte") == 0);
  CHECK(error_of(nul).find("trace:1: a NUL byte") == 0);
  CHECK(
      error_of("[{\"arrival_s\": 0, \"prompt_tokens\": 1,\n \"output_tokens\": 1},\n" + nul + "]").find("a NUL byte") !=
      std::string::npos);
}

TEST_CASE("a file cut in the middle of its packing says so, after what was read") {
  const TraceFolder folder;
  std::string text(kHeader);
  for (int i = 0; i < 1000; ++i) text += fmt::format("{},{},{}\n", i, 100 + i * 7 % 900, 1 + i * 13 % 400);
  const std::string packed = file_bytes(folder.write_gzip("t.gz", {text}));
  CHECK(error_of(packed.substr(0, packed.size() / 2)).find("the gzip file is truncated") != std::string::npos);
  CHECK(error_of(packed.substr(0, packed.size() - 1)).find("the gzip file is truncated") != std::string::npos);
}

}  // namespace
}  // namespace blockyard::workload
