// Bytes that no one meant as a trace: every reader ends in requests or in an InputError, and gzip changes nothing.
#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "sim/base/random.h"
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

const std::vector<std::string> kSeeds{
    "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n2024-05-10 "
    "00:00:00.009930+00:00,396,109\r\n",
    "arrival_s,prompt_tokens,output_tokens,max_tokens,priority,tenant,session\n0,374,44,512,-1,2,3\n"
    "4.314489,\"396\",109,,,,\n1e1,1,1,1,0,0,0\n",
    "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 500, \"hash_ids\": [0, 1]}\n"
    "{\"timestamp\": 3000.5, \"input_length\": 7, \"output_length\": null}\n"};

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

TEST_CASE("mutated traces of every format end in requests or an InputError, packed as plain") {
  const TraceFolder folder;
  RandomStream random(1, "mutations");
  std::int64_t read = 0;
  std::int64_t refused = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::size_t seed = static_cast<std::size_t>(random.integer(0, std::ssize(kSeeds) - 1));
    const std::string text = mutated(kSeeds[seed], random);
    TraceOptions options;
    if (random.integer(0, 1) == 1) options.format = trace_formats()[seed].name;
    options.max_bad_rows = random.integer(0, 2);
    options.reorder_window = random.integer(0, 3);
    const Outcome plain = outcome_of(folder.write("trace", text), options);
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
