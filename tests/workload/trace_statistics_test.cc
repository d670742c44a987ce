#include "sim/workload/trace_statistics.h"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/workload/real_traces.h"
#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

TraceStatistics statistics_of(std::vector<Request> requests) {
  ListSource source(std::move(requests));
  return measure(source);
}

Request at(double time_s, std::int64_t prompt = 1, std::int64_t output = 1) {
  return {to_time(time_s), Tokens(prompt), Tokens(output), Tokens(output)};
}

TEST_CASE("nothing and one request have no rate, not a wrong one") {
  const TraceStatistics none = statistics_of({});
  CHECK(none.requests == 0);
  CHECK(none.rate_per_s == 0);
  const TraceStatistics one = statistics_of({at(3, 5, 7)});
  CHECK(one.requests == 1);
  CHECK(one.rate_per_s == 0);
  CHECK(one.gap_cv == 0);
  CHECK(one.prompt_tokens.p99 == 5);
  CHECK(one.max_total == Tokens(12));
}

TEST_CASE("gaps of 1 and 3 s by hand") {
  // gaps 1, 3, 1, 3: mean 2, population standard deviation 1. Bins of 1 s over [0, 8]: 9 bins with 1,1,0,0,1,1,0,0,1:
  // mean 5/9, mean of squares 5/9, dispersion 1 - 5/9.
  const TraceStatistics seen = statistics_of({at(0), at(1), at(4), at(5), at(8)});
  CHECK(seen.span == to_time(8));
  CHECK(seen.rate_per_s == 0.5);
  CHECK(seen.gap_cv == Approx(0.5));
  CHECK(seen.largest_gap == to_time(3));
  CHECK(seen.dispersion_1s == Approx(4.0 / 9));
  CHECK(seen.dispersion_60s == 0);
  CHECK(seen.peak_in_1s == 1);
  CHECK(seen.distinct_arrivals == 5);
}

TEST_CASE("percentiles interpolate linearly between order statistics") {
  REQUIRE(rc::check([] {
    const auto lengths = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(
        rc::gen::oneOf(rc::gen::inRange<std::int64_t>(1, 20), rc::gen::inRange<std::int64_t>(1, 3'000'000))));
    std::vector<Request> requests;
    for (const std::int64_t length : lengths) requests.push_back(at(0, length));
    const LengthStatistics seen = statistics_of(requests).prompt_tokens;
    std::vector<std::int64_t> sorted = lengths;
    std::sort(sorted.begin(), sorted.end());
    const auto percentile = [&](double fraction) {
      const double rank = fraction * static_cast<double>(sorted.size() - 1);
      const std::size_t below = static_cast<std::size_t>(rank);
      const std::size_t above = std::min(below + 1, sorted.size() - 1);
      return static_cast<double>(sorted[below]) +
             (rank - std::floor(rank)) * static_cast<double>(sorted[above] - sorted[below]);
    };
    RC_ASSERT(seen.p50 == percentile(0.5));
    RC_ASSERT(seen.p90 == percentile(0.9));
    RC_ASSERT(seen.p99 == percentile(0.99));
    RC_ASSERT(seen.min.count() == sorted.front());
    RC_ASSERT(seen.max.count() == sorted.back());
  }));
}

std::string digits(double value, int places) { return fmt::format("{:.{}f}", value, places); }

TEST_CASE("the Azure conversation trace has its published statistics to the printed digits") {
  const std::string path = real_trace("azure/AzureLLMInferenceTrace_conv.csv");
  if (path.empty()) return;
  const auto source = open_trace(path);
  const TraceStatistics seen = measure(*source);
  CHECK(source->report().format == "azure");
  CHECK(source->report().rows == 19'366);
  CHECK(source->report().dropped() == 0);
  CHECK(source->report().out_of_order == 0);
  CHECK(seen.requests == 19'366);
  CHECK(seen.distinct_arrivals == 19'366);
  CHECK(seen.span == SimTime(3'501'721'937'000));
  CHECK(digits(seen.rate_per_s, 6) == "5.530136");
  CHECK(digits(seen.gap_cv, 4) == "1.0942");
  CHECK(digits(to_seconds(seen.largest_gap), 4) == "4.3146");
  CHECK(digits(seen.dispersion_1s, 4) == "1.3856");
  CHECK(digits(seen.dispersion_60s, 2) == "20.55");
  CHECK(seen.peak_in_1s == 16);
  CHECK(seen.prompt_tokens.sum == Tokens(22'361'870));
  CHECK(digits(seen.prompt_tokens.mean, 3) == "1154.697");
  CHECK(seen.prompt_tokens.p50 == 1020);
  CHECK(digits(seen.prompt_tokens.p99, 0) == "4142");
  CHECK(seen.prompt_tokens.max == Tokens(14'050));
  CHECK(seen.prompt_tokens.min == Tokens(2));
  CHECK(seen.output_tokens.sum == Tokens(4'088'665));
  CHECK(digits(seen.output_tokens.mean, 3) == "211.126");
  CHECK(seen.output_tokens.p50 == 129);
  CHECK(digits(seen.output_tokens.p99, 0) == "601");
  CHECK(seen.output_tokens.max == Tokens(1000));
  CHECK(seen.output_tokens.min == Tokens(7));
  CHECK(seen.max_total == Tokens(14'089));
}

TEST_CASE("the Azure trace at twice the rate") {
  const std::string path = real_trace("azure/AzureLLMInferenceTrace_conv.csv");
  if (path.empty()) return;
  TraceOptions options;
  options.rate_scale = 2;
  const TraceStatistics seen = measure(*open_trace(path, options));
  CHECK(digits(to_seconds(seen.span), 5) == "1750.86097");
  CHECK(digits(seen.rate_per_s, 3) == "11.060");
}

TEST_CASE("the Mooncake conversation trace has its published statistics to the printed digits") {
  const std::string path = real_trace("mooncake/conversation_trace.jsonl");
  if (path.empty()) return;
  const auto source = open_trace(path);
  const TraceStatistics seen = measure(*source);
  CHECK(source->report().format == "mooncake");
  CHECK(source->report().prefix_ids == 288'500);
  CHECK(seen.requests == 12'031);
  CHECK(seen.span == SimTime(3'536'999'000'000));
  CHECK(digits(seen.rate_per_s, 6) == "3.401188");
  CHECK(seen.distinct_arrivals == 1'180);
  CHECK(seen.peak_in_1s == 28);
  CHECK(digits(seen.gap_cv, 4) == "3.0337");
  CHECK(digits(seen.dispersion_1s, 3) == "7.894");
  CHECK(seen.prompt_tokens.sum == Tokens(144'793'823));
  CHECK(digits(seen.prompt_tokens.mean, 3) == "12035.061");
  CHECK(seen.prompt_tokens.p50 == 6909);
  CHECK(digits(seen.prompt_tokens.p99, 1) == "85400.4");
  CHECK(seen.prompt_tokens.max == Tokens(126'195));
  CHECK(seen.prompt_tokens.min == Tokens(891));
  CHECK(seen.output_tokens.sum == Tokens(4'122'048));
  CHECK(digits(seen.output_tokens.mean, 3) == "342.619");
  CHECK(seen.output_tokens.p50 == 350);
  CHECK(digits(seen.output_tokens.p99, 1) == "1118.5");
  CHECK(seen.output_tokens.max == Tokens(2000));
  CHECK(seen.output_tokens.min == Tokens(1));
}

}  // namespace
}  // namespace blockyard::workload
