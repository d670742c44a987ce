#include "sim/workload/servegen_client.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/workload/trace_statistics.h"
#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

const std::string kDataset =
    R"({"0": {"input_tokens": "{100: 0.25, 200: 0.75}", "output_tokens": "{7: 1.0}", "reason_ratio": "{}"},
        "21600": {"input_tokens": "{}", "output_tokens": "{}"},
        "43200": {"input_tokens": "{300: 2, 500: 2}", "output_tokens": "{9: 0.5, 11: 0.5}"}})";

ReadTrace read_client(const TraceFolder& folder, const std::string& windows, const std::string& dataset = kDataset) {
  (void)folder.write("chunk-5-dataset.json", dataset);
  return read_trace(folder.write("chunk-5-trace.csv", windows));
}

TEST_CASE("a servegen client: rate, CV and lengths of its windows") {
  const TraceFolder folder;
  // Windows of 20,000 s: Gamma at 2/s with CV 1.5 (shape 1/2.25, scale 2.25/2), idle, Weibull of shape 0.5 at 1/s: mean
  // scale * Gamma(3) = 2 scale, CV sqrt(Gamma(5) / Gamma(3)^2 - 1) = sqrt(5).
  const ReadTrace read = read_client(folder,
                                     "0,2,1.5,Gamma,0.444444444,1.125\n20000,0,0,,0,0\n50000,1,2.236,Weibull,0.5,0.5\n"
                                     "70000,0,0,,0,0\n");
  CHECK(read.report.format == "servegen");
  std::vector<Request> gamma;
  std::vector<Request> weibull;
  const SimTime origin = read.report.origin;
  for (Request request : read.requests) {
    request.arrival += origin;
    (request.arrival < SimTime(20'000 * kNanosecondsPerSecond) ? gamma : weibull).push_back(request);
  }
  CHECK(weibull.front().arrival >= SimTime(50'000 * kNanosecondsPerSecond));
  CHECK(weibull.back().arrival < SimTime(70'000 * kNanosecondsPerSecond));
  const auto measured = [](std::vector<Request> requests) {
    ListSource source(std::move(requests));
    return measure(source);
  };
  const TraceStatistics a = measured(gamma);
  // Counts of a renewal process vary by CV^2 n: 40,000 with a standard deviation of 300; 20,000 with 316.
  CHECK(std::abs(a.requests - 40'000) < 1500);
  CHECK(a.gap_cv == Approx(1.5).epsilon(0.05));
  CHECK(a.prompt_tokens.mean == Approx(175).epsilon(0.02));
  CHECK(a.output_tokens.max == Tokens(7));
  const TraceStatistics b = measured(weibull);
  CHECK(std::abs(b.requests - 20'000) < 1600);
  CHECK(b.gap_cv == Approx(std::sqrt(5.0)).epsilon(0.08));
  CHECK(b.prompt_tokens.mean == Approx(400).epsilon(0.02));
  CHECK(
      same(read.requests, read_client(folder,
                                      "0,2,1.5,Gamma,0.444444444,1.125\n20000,0,0,,0,0\n50000,1,2.236,Weibull,0.5,0.5\n"
                                      "70000,0,0,,0,0\n")
                              .requests));
}

TEST_CASE("servegen rows as published: shape and scale belong to the rate") {
  const ServeGenWindow window =
      parse_servegen_window("0,378.917,1.12239,Gamma,0.793809,0.00332460", {"chunk-5-trace.csv", 1});
  CHECK(window.pattern == ServeGenWindow::Pattern::gamma);
  CHECK_THROWS_WITH(parse_servegen_window("0,378.917,1.12239,Gamma,0.793809,0.0332460", {"c", 1}),
                    Catch::Contains("shape and scale give gaps of"));
  CHECK_THROWS_WITH(parse_servegen_window("0,1,1,Pareto,1,1", {"c", 1}), Catch::Contains("c:1: found"));
  CHECK(is_servegen_window("600,0.0,0.0,,0.0,0.0"));
  CHECK_FALSE(is_servegen_window("a,b,c,d,e,f"));
  CHECK_FALSE(is_servegen_window("1,2,3"));
}

TEST_CASE("what is wrong with a servegen client is told") {
  const TraceFolder folder;
  const std::string row = "0,2,1,Gamma,1,0.5\n";
  CHECK_THROWS_WITH(read_trace(folder.write("chunk-5-trace.csv", row)),
                    Catch::Contains("chunk-5-dataset.json: cannot be opened"));
  CHECK_THROWS_WITH(read_trace(folder.write("other.csv", row)), Catch::Contains("is named <chunk>-trace.csv"));
  CHECK_THROWS_WITH(read_client(folder, row, "{\"0\": {\"input_tokens\": \"{1: x}\", \"output_tokens\": \"{1: 1}\"}}"),
                    Catch::Contains("expected {length: probability, ...}"));
  CHECK_THROWS_WITH(read_client(folder, row, "{}"), Catch::Contains("has no lengths"));
  CHECK_THROWS_WITH(read_client(folder, row + row), Catch::Contains("begins no later than the one before"));
  CHECK_THROWS_AS(read_client(folder, row, "{\"0\": 7}"), InputError);
  // All at once: two rows, two tables.
  CHECK_THROWS_WITH(read_client(folder, row + "1,2,1,Pareto,1,0.5\n2,2,1,Gamma,1,5\n",
                                "{\"0\": {\"input_tokens\": \"{1: x}\",\n \"output_tokens\": \"{1}\"}}"),
                    Catch::Contains("chunk-5-trace.csv:2:1: found") &&
                        Catch::Contains("chunk-5-trace.csv:3:1: found") &&
                        Catch::Contains("chunk-5-dataset.json:1:8: found \"1: x\"") &&
                        Catch::Contains("chunk-5-dataset.json:2:2: found \"1\""));
}

}  // namespace
}  // namespace blockyard::workload
