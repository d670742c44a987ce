// n, the samples of a request, in traces and as an edit.
#include "sim/workload/samples.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/workload/list_source.h"
#include "tests/workload/trace_fixture.h"

using namespace blockyard;
using namespace blockyard::workload;

namespace {

const std::string kCsv = "arrival_s,n,prompt_tokens,output_tokens\n0,3,10,20\n1,,10,20\n2, 256 ,10,20\n";
const std::string kJson =
    "{\"arrival_s\": 0, \"prompt_tokens\": 10, \"output_tokens\": 20, \"n\": 3}\n"
    "{\"arrival_s\": 1, \"prompt_tokens\": 10, \"output_tokens\": 20}\n"
    "{\"arrival_s\": 2, \"prompt_tokens\": 10, \"output_tokens\": 20, \"n\": 256}\n";

std::vector<std::int32_t> samples_of(const std::string& text) {
  std::vector<std::int32_t> samples;
  for (const Request& request : read_text(text).requests) samples.push_back(request.samples);
  return samples;
}

}  // namespace

TEST_CASE("traces tell the samples of a request; without a word it is one") {
  const std::vector<std::int32_t> wanted{3, 1, 256};
  CHECK(samples_of(kCsv) == wanted);
  CHECK(samples_of(kJson) == wanted);
}

TEST_CASE("samples out of range are told with their place") {
  for (const char* n : {"0", "257", "-1", "many", "1.5"}) {
    CAPTURE(n);
    CHECK(
        error_of(fmt::format("arrival_s,prompt_tokens,output_tokens,n\n0,10,20,{}\n", n)).starts_with("trace:2:9: n"));
    CHECK_FALSE(
        error_of(fmt::format("{{\"arrival_s\": 0, \"prompt_tokens\": 1, \"output_tokens\": 2, \"n\": {}}}\n", n))
            .empty());
  }
}

TEST_CASE("a trace's beginning tells whether it may ask for several") {
  const TraceFolder folder;
  const auto asks = [&](const std::string& text) { return trace_asks_samples(folder.write("trace", text), "auto"); };
  CHECK(asks(kCsv));
  CHECK(asks(kJson));
  CHECK_FALSE(asks("arrival_s,prompt_tokens,output_tokens\n0,10,20\n"));
  CHECK_FALSE(asks("TIMESTAMP,ContextTokens,GeneratedTokens,n\n2023-11-16 18:15:46.680590,374,44,3\n"));
  CHECK_FALSE(asks(""));
  CHECK_FALSE(trace_asks_samples("/no/such/file", "auto"));
}

TEST_CASE("an edit sets the samples of all, and a reader that expects one refuses more") {
  const TraceFolder folder;
  const std::string trace = folder.write("trace", kCsv);
  const auto three = with_samples(open_trace(trace), 3);
  for (const Request& request : read_all(*three)) CHECK(request.samples == 3);

  const auto refuses = expect_one_sample(open_trace(trace));
  CHECK_THROWS_WITH(read_all(*refuses), Catch::Contains("a request asks for n = 3 samples"));
  const auto takes = expect_one_sample(with_samples(open_trace(trace), 1));
  CHECK(read_all(*takes).size() == 3);
}
