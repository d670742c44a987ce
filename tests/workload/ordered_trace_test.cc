// What happens to rows once read: lengths policy, order, limit, rate scale.
#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <utility>

#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

const std::string kHeader = "arrival_s,prompt_tokens,output_tokens\n";
const std::string kOddLengths = kHeader + "0,10,5\n1,0,0\n2,10,0\n3,-1,-1\n4,,7\n5,7,\n6,0,4\n7,10,-3\n8,12,6\n";

std::int64_t dropped(const ReadReport& report, DropReason reason) {
  return report.dropped_by_reason[static_cast<std::size_t>(reason)];
}

TEST_CASE("zero, negative and missing lengths are dropped and counted by reason") {
  const ReadTrace read = read_text(kOddLengths);
  CHECK(read.requests.size() == 2);
  CHECK(read.report.rows == 9);
  CHECK(read.report.kept == 2);
  CHECK(read.report.dropped() == 7);
  CHECK(dropped(read.report, DropReason::zero_prompt) == 2);
  CHECK(dropped(read.report, DropReason::zero_output) == 1);
  CHECK(dropped(read.report, DropReason::negative_length) == 2);
  CHECK(dropped(read.report, DropReason::missing_length) == 2);
}

TEST_CASE("keep keeps prefill-only rows; what cannot be simulated is still dropped and counted") {
  TraceOptions options;
  options.bad_lengths = BadLengths::keep;
  const ReadTrace read = read_text(kOddLengths, options);
  REQUIRE(read.requests.size() == 3);
  CHECK(read.requests[1].output_tokens == Tokens(0));
  CHECK(read.report.kept_zero_output == 1);
  CHECK(read.report.dropped() == 6);
}

TEST_CASE("fail stops at the first such row") {
  TraceOptions options;
  options.bad_lengths = BadLengths::fail;
  CHECK(error_of(kOddLengths, options) ==
        "trace:3: zero_prompt: such rows are refused here; drop or keep them by option");
}

TEST_CASE("arrivals count from the earliest kept row") {
  const ReadTrace read = read_text(kHeader + "5,0,0\n45,10,1\n44.5,11,1\n46,12,1\n");
  REQUIRE(read.requests.size() == 3);
  CHECK(read.requests[0].arrival == SimTime(0));
  CHECK(read.requests[0].prompt_tokens == Tokens(11));
  CHECK(read.requests[1].arrival == SimTime(500'000'000));
  CHECK(read.report.out_of_order == 1);
}

TEST_CASE("equal times keep file order") {
  const ReadTrace read = read_text(kHeader + "2,1,1\n1,2,1\n2,3,1\n1,4,1\n2,5,1\n");
  std::vector<std::int64_t> prompts;
  for (const Request& request : read.requests) prompts.push_back(request.prompt_tokens.count());
  CHECK(prompts == std::vector<std::int64_t>{2, 4, 1, 3, 5});
  CHECK(read.report.out_of_order == 2);
}

// A file of distinct-or-equal times, the oracle's stable sort, its counts, and how far the worst inversion reaches.
struct Shuffled {
  std::vector<std::int64_t> times_s;
  std::string text = kHeader;
  std::vector<Request> sorted;
  std::int64_t late = 0;
  std::int64_t reach = 0;

  explicit Shuffled(std::vector<std::int64_t> times) : times_s(std::move(times)) {
    for (std::size_t i = 0; i < times_s.size(); ++i) {
      const std::int64_t prompt = static_cast<std::int64_t>(i) + 1;
      text += fmt::format("{},{},1\n", times_s[i], prompt);
      sorted.push_back({SimTime(times_s[i] * kNanosecondsPerSecond), Tokens(prompt), Tokens(1), Tokens(1)});
      bool is_late = false;
      for (std::size_t k = 0; k < i; ++k) {
        if (times_s[k] <= times_s[i]) continue;
        is_late = true;
        reach = std::max(reach, static_cast<std::int64_t>(i - k));
      }
      late += is_late ? 1 : 0;
    }
    // The prompt is the place in the file: equal times keep it.
    std::sort(sorted.begin(), sorted.end(), [](const Request& a, const Request& b) {
      return std::pair(a.arrival, a.prompt_tokens) < std::pair(b.arrival, b.prompt_tokens);
    });
    if (sorted.empty()) return;
    const SimTime first = sorted.front().arrival;
    for (Request& request : sorted) request.arrival -= first;
  }
};

TEST_CASE("any disorder within the window is mended and counted, any beyond it is an error") {
  REQUIRE(rc::check([] {
    const auto times = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 50));
    const Shuffled shuffled(times);
    TraceOptions options;
    options.reorder_window = shuffled.reach;
    const ReadTrace read = read_text(shuffled.text, options);
    RC_ASSERT(same(read.requests, shuffled.sorted));
    RC_ASSERT(read.report.out_of_order == shuffled.late);
    if (shuffled.reach > 0) {
      options.reorder_window = shuffled.reach - 1;
      RC_ASSERT(error_of(shuffled.text, options).find("raise reorder_window") != std::string::npos);
    }
  }));
}

TEST_CASE("disorder is mended across the stretches of a long file") {
  // 20,000 rows, every block of 100 reversed: reach 99, and 99 late rows a block.
  std::vector<std::int64_t> times(20'000);
  std::iota(times.begin(), times.end(), 0);
  std::string text = kHeader;
  for (std::size_t block = 0; block < times.size(); block += 100) {
    std::reverse(times.begin() + static_cast<std::ptrdiff_t>(block),
                 times.begin() + static_cast<std::ptrdiff_t>(block + 100));
  }
  for (const std::int64_t time : times) text += fmt::format("{},{},1\n", time, time + 1);
  TraceOptions options;
  options.reorder_window = GENERATE(99, 150, 65'536);
  const ReadTrace read = read_text(text, options);
  REQUIRE(read.requests.size() == 20'000);
  CHECK(read.report.out_of_order == 200 * 99);
  for (std::size_t i = 0; i < read.requests.size(); ++i) {
    REQUIRE(read.requests[i].arrival == SimTime(static_cast<std::int64_t>(i) * kNanosecondsPerSecond));
    REQUIRE(read.requests[i].prompt_tokens == Tokens(static_cast<std::int64_t>(i) + 1));
  }
  options.reorder_window = 98;
  CHECK(error_of(text, options) ==
        "trace:101: the row is 99 s earlier than a row more than reorder_window = 98 rows above it; sort the file by "
        "time, or raise reorder_window");
}

TEST_CASE("the limit counts kept rows in file order and stops reading there") {
  TraceOptions options;
  options.limit = 2;
  const ReadTrace read = read_text(kHeader + "0,1,1\n1,0,0\n2,1,1\nbroken\n", options);
  CHECK(read.requests.size() == 2);
  CHECK(read.report.rows == 3);
  CHECK(read.report.kept == 2);
  options.limit = 0;
  CHECK(read_text(kHeader + "0,1,1\n", options).requests.empty());
}

TEST_CASE("the rate scale divides arrivals, each rounded by itself") {
  std::string text = kHeader;
  for (int i = 0; i < 1000; ++i) text += fmt::format("{},1,1\n", i);
  TraceOptions options;
  options.rate_scale = 3;
  const ReadTrace read = read_text(text, options);
  CHECK(read.requests[1].arrival == SimTime(333'333'333));
  CHECK(read.requests[2].arrival == SimTime(666'666'667));
  CHECK(read.requests[999].arrival == SimTime(333'000'000'000));
  options.rate_scale = 0.5;
  CHECK(read_text(text, options).requests[999].arrival == SimTime(1'998'000'000'000));
  options.rate_scale = 1e-300;
  CHECK(error_of(text, options) == "trace: a rate scale of 1e-300 stretches the trace beyond 200 years");
}

TEST_CASE("options out of range are told together") {
  TraceOptions options;
  options.reorder_window = -1;
  options.max_bad_rows = -2;
  options.limit = -3;
  options.rate_scale = 0;
  CHECK(error_of(kHeader, options) ==
        "reorder_window: found -1, expected 0 to 100000000 rows\nmax_bad_rows: found -2, expected 0 or more\n"
        "limit: found -3, expected 0 or more rows\nrate_scale: found 0, expected a number above 0");
}

TEST_CASE("spans of every size give the same requests") {
  const TraceFolder folder;
  std::string text = kHeader;
  for (int i = 0; i < 9000; ++i) text += fmt::format("{},{},1\n", i ^ 3, i + 1);
  const std::string path = folder.write("trace", text);
  TraceOptions options;
  options.reorder_window = 8;
  const std::vector<Request> whole = read_trace(path, options).requests;
  REQUIRE(whole.size() == 9000);
  for (const std::size_t size : {1U, 7U, 5000U, 20'000U}) {
    const auto source = open_trace(path, options);
    std::vector<Request> pieces;
    std::vector<Request> span(size);
    while (const std::size_t count = source->read(span)) {
      pieces.insert(pieces.end(), span.begin(), span.begin() + static_cast<std::ptrdiff_t>(count));
    }
    CHECK(same(pieces, whole));
  }
}

}  // namespace
}  // namespace blockyard::workload
