// What CSV traces in the wild do, one test each, through open_trace.
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

TEST_CASE("the first request of a session that is kept waits for no answer, nor does one without a session") {
  const ReadTrace read = read_text(
      "arrival_s,prompt_tokens,output_tokens,session,delay_s\n0,5,0,1,\n1,5,5,1,0.5\n2,5,5,1,0.5\n3,5,5,,0.5\n"
      "4,5,5,4294967295,0.5\n5,5,5,4294967295,0.5\n");
  REQUIRE(read.requests.size() == 5);
  CHECK(read.requests[0].delay == kAtArrival);  // the row above it is left out: it had no answer
  CHECK(read.requests[1].delay == SimTime(500'000'000));
  CHECK(read.requests[2].delay == kAtArrival);
  CHECK(read.requests[3].delay == kAtArrival);
  CHECK(read.requests[4].delay == SimTime(500'000'000));
  CHECK(read.report.waiting == 2);
}

constexpr const char* kAzure2023 =
    "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 "
    "18:15:50.9951690,396,109\r\n2023-11-16 18:15:51.2224670,879,55";

void check_azure_rows(const ReadTrace& read) {
  REQUIRE(read.requests.size() == 3);
  CHECK(read.requests[0].arrival == SimTime(0));
  CHECK(read.requests[1].arrival == SimTime(4'314'579'000));
  CHECK(read.requests[2].arrival == SimTime(4'541'877'000));
  CHECK(read.requests[1].prompt_tokens == Tokens(396));
  CHECK(read.requests[1].output_tokens == Tokens(109));
  CHECK(read.requests[1].max_tokens == Tokens(109));
  CHECK(read.report.rows == 3);
  CHECK(read.report.kept == 3);
}

TEST_CASE("azure 2023: CRLF everywhere, no newline at the end, seven digits") {
  const ReadTrace read = read_text(kAzure2023);
  check_azure_rows(read);
  CHECK(read.report.format == "azure");
}

TEST_CASE("azure 2024: offsets, and whole seconds without a fraction") {
  const ReadTrace read = read_text(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n2024-05-10 "
      "00:00:01+00:00,2399,6\n");
  REQUIRE(read.requests.size() == 2);
  CHECK(read.requests[1].arrival == SimTime(990'070'000));
}

TEST_CASE("columns are found by name: in the middle, in another order, in other case, with spaces and quotes") {
  check_azure_rows(
      read_text("TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68059,1,374,44\n2023-11-16 "
                "18:15:50.995169,0,396,109\n2023-11-16 18:15:51.222467,,879,55\n"));
  check_azure_rows(read_text(
      " generated tokens ,\"contextTokens\",Timestamp,\n44,374,2023-11-16 18:15:46.68059,\n109, \"396\" ,\"2023-11-16 "
      "18:15:50.995169\",\"a,\"\"b\"\n55,879,2023-11-16 18:15:51.222467,x\n"));
}

TEST_CASE("a byte order mark, blank lines and gzip change nothing") {
  check_azure_rows(read_text(std::string("\xef\xbb\xbf\r\n") + kAzure2023 + "\r\n\r\n  \r\n"));
  const TraceFolder folder;
  const std::string text = kAzure2023;
  check_azure_rows(read_trace(folder.write_gzip("packed", {text.substr(0, 50), text.substr(50)})));
}

TEST_CASE("standard input is read as -") {
  const TraceFolder folder;
  const int saved = ::dup(STDIN_FILENO);
  const int file = ::open(folder.write_gzip("packed.gz", {kAzure2023}).c_str(), O_RDONLY);
  ::dup2(file, STDIN_FILENO);
  check_azure_rows(read_trace("-"));
  ::dup2(saved, STDIN_FILENO);
  ::close(file);
  ::close(saved);
}

TEST_CASE("blockyard CSV: optional columns with their defaults, in any order") {
  const ReadTrace read = read_text(
      "session,arrival_s,prompt_tokens,output_tokens,max_tokens,priority,tenant\n"
      "4294967295,0.000000001,10,20,30,-5,7\n,1.5,11,21,,,\n");
  REQUIRE(read.requests.size() == 2);
  CHECK(read.report.format == "blockyard");
  CHECK(same(read.requests[0], {SimTime(0), Tokens(10), Tokens(20), Tokens(30), -5, 7, 4'294'967'295}));
  CHECK(same(read.requests[1], {SimTime(1'499'999'999), Tokens(11), Tokens(21), Tokens(21)}));
}

TEST_CASE("numbers of unusual form are read exactly or refused, never guessed") {
  const ReadTrace read = read_text(
      "arrival_s,prompt_tokens,output_tokens\n0,374.0,1e2\n000000000000.25,00000000012,+7\n1.123456789,12345678,3\n"
      "1.1234567894,1,1\n1700000000.000000001,123456789,1\n");
  REQUIRE(read.requests.size() == 5);
  CHECK(read.requests[0].prompt_tokens == Tokens(374));
  CHECK(read.requests[0].output_tokens == Tokens(100));
  CHECK(read.requests[1].arrival == SimTime(250'000'000));
  CHECK(read.requests[1].prompt_tokens == Tokens(12));
  CHECK(read.requests[1].output_tokens == Tokens(7));
  CHECK(read.requests[2].arrival == SimTime(1'123'456'789));
  CHECK(read.requests[2].prompt_tokens == Tokens(12'345'678));
  CHECK(read.requests[3].arrival == SimTime(1'123'456'789));
  CHECK(read.requests[4].arrival == SimTime(1'700'000'000'000'000'001));
  CHECK(read.requests[4].prompt_tokens == Tokens(123'456'789));
}

TEST_CASE("the digits of one line never run into what an earlier line left in the buffer") {
  const ReadTrace read = read_text("arrival_s,prompt_tokens,output_tokens\n0,99999999,99999999\n1,2,3");
  CHECK(read.requests.at(1).output_tokens == Tokens(3));
}

TEST_CASE("an unknown header names the columns found and wanted") {
  const std::string told = error_of("Timestamp,Model,Request tokens\n5,ChatGPT,472\n");
  CHECK(
      told.starts_with("trace:1: no known trace format; found \"Timestamp,Model,Request tokens\", wanted one of "
                       "(or name the format)\n  azure: TIMESTAMP,ContextTokens,GeneratedTokens\n"));
  CHECK(told.find("\n  burstgpt: Timestamp,Request tokens,Response tokens\n") != std::string::npos);
  TraceOptions named;
  named.format = "azure";
  CHECK(error_of("TIMESTAMP,ContextToken,GeneratedTokens\n", named) ==
        "trace:1: no column \"ContextTokens\"; found \"TIMESTAMP,ContextToken,GeneratedTokens\", wanted "
        "\"TIMESTAMP,ContextTokens,GeneratedTokens\"; did you mean \"ContextToken\"?");
  CHECK(error_of("TIMESTAMP,ContextTokens,GeneratedTokens,Context Tokens\n") ==
        "trace:1: the column \"ContextTokens\" occurs 2 times");
  CHECK(error_of("") == "trace: is empty, expected a trace");
  CHECK(error_of("", named) == "trace: is empty, expected a CSV header");
}

TEST_CASE("an unknown format name is answered with the nearest") {
  TraceOptions options;
  options.format = "azur";
  const std::string told = error_of(kAzure2023, options);
  CHECK(told.starts_with("unknown trace format \"azur\", known are auto, azure, azure-lmm, bailian, "));
  CHECK(told.ends_with("; did you mean \"azure\"?"));
}

TEST_CASE("a header may be missing, on request only") {
  const std::string rows = std::string(kAzure2023).substr(41);
  TraceOptions options;
  options.header = false;
  CHECK(error_of(rows, options) == "a trace without header needs its format named");
  options.format = "azure";
  check_azure_rows(read_text(rows, options));
  CHECK(error_of(rows).find("no known trace format") != std::string::npos);
}

TEST_CASE("a header beyond reason is refused, not stored") {
  CHECK(error_of(std::string(1 << 20, ',') + "\n").find("no known trace format") != std::string::npos);
}

TEST_CASE("malformed rows are told with line, column, what was found and why") {
  const std::string header = "arrival_s,prompt_tokens,output_tokens\n0,1,1\n";
  CHECK(error_of(header + "1,abc,1\n") == "trace:3:3: prompt_tokens: found \"abc\", not a number");
  CHECK(error_of(header + "1,1.5,1\n") == "trace:3:3: prompt_tokens: found \"1.5\", expected a whole number");
  CHECK(error_of(header + "1,1,5x\n") == "trace:3:5: output_tokens: found \"5x\", not a number");
  CHECK(error_of(header + "1,1\n") == "trace:3:4: the row has 2 of 3 fields");
  CHECK(error_of(header + "1,1,1,1\n") == "trace:3:6: the row has more fields than the 3 columns");
  CHECK(error_of(header + "1,\"1,1\n") ==
        "trace:3:3: prompt_tokens: found \"\", a quoted field without its closing quote on the same line");
  CHECK(error_of(header + ",1,1\n") == "trace:3:1: arrival_s: found \"\", expected a time");
  CHECK(error_of(header + "1,2000000000,1\n") ==
        "trace:3:3: prompt_tokens: found \"2000000000\", more than 1,000,000,000 tokens");
}

TEST_CASE("arrivals that are no time: 1e308, nan, negative, overflow") {
  const std::string header = "arrival_s,prompt_tokens,output_tokens\n0,1,1\n";
  CHECK(error_of(header + "1e308,1,1\n") == "trace:3:1: arrival_s: found \"1e308\", too large");
  CHECK(error_of(header + "nan,1,1\n") == "trace:3:1: arrival_s: found \"nan\", not a number");
  CHECK(error_of(header + "-0.5,1,1\n") == "trace:3:1: arrival_s: found \"-0.5\", a negative arrival");
  CHECK(error_of(header + "9223372037,1,1\n") == "trace:3:1: arrival_s: found \"9223372037\", too large");
  CHECK(error_of("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-13-16 18:15:46,1,1\n") ==
        "trace:2:1: TIMESTAMP: found \"2023-13-16 18:15:46\", no date of the calendar");
}

TEST_CASE("several malformed rows are told at once") {
  const std::string error = error_of("arrival_s,prompt_tokens,output_tokens\nx,1,1\n0,1,1\n0,y,1\n");
  CHECK(error ==
        "trace:2:1: arrival_s: found \"x\", not a number\ntrace:4:3: prompt_tokens: found \"y\", not a number");
}

TEST_CASE("malformed rows are left out and counted up to max_bad_rows") {
  const std::string text = "arrival_s,prompt_tokens,output_tokens\n0,1,1\nx,1,1\n1,1,1\n2,1\n3,1,1\n";
  TraceOptions options;
  options.max_bad_rows = 2;
  const ReadTrace read = read_text(text, options);
  CHECK(read.report.bad_rows == 2);
  CHECK(read.report.rows == 5);
  CHECK(read.report.kept == 3);
  CHECK(read.requests.size() == 3);
  options.max_bad_rows = 1;
  CHECK(error_of(text, options) ==
        "trace:3:1: arrival_s: found \"x\", not a number\ntrace:5:4: the row has 2 of 3 fields\n"
        "trace:5:4: more malformed rows than max_bad_rows = 1");
}

}  // namespace
}  // namespace blockyard::workload
