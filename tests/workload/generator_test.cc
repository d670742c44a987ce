#include "sim/workload/generator.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/workload/trace_statistics.h"
#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

LengthSpec lognormal(double mean, double cv) {
  LengthSpec spec;
  spec.distribution = "lognormal";
  spec.mean = mean;
  spec.cv = cv;
  return spec;
}

LengthSpec uniform(std::int64_t low, std::int64_t high) {
  LengthSpec spec;
  spec.distribution = "uniform";
  spec.low = Tokens(low);
  spec.high = Tokens(high);
  return spec;
}

LengthSpec constant(std::int64_t value) {
  LengthSpec spec;
  spec.distribution = "constant";
  spec.value = Tokens(value);
  return spec;
}

LengthSpec geometric(double mean) {
  LengthSpec spec;
  spec.distribution = "geometric";
  spec.mean = mean;
  return spec;
}

GeneratorSpec spec_of(std::int64_t requests, LengthSpec prompt, LengthSpec output, std::string process = "poisson",
                      double rate_per_s = 5) {
  GeneratorSpec spec;
  spec.requests = requests;
  spec.arrivals.process = std::move(process);
  spec.arrivals.rate_per_s = rate_per_s;
  spec.prompt_tokens = std::move(prompt);
  spec.output_tokens = std::move(output);
  spec.seed = 7;
  return spec;
}

std::vector<Request> generate(const GeneratorSpec& spec) {
  Generator generator(spec);
  return read_all(generator);
}

struct Moments {
  double mean = 0;
  double cv = 0;
};

Moments output_moments(const std::vector<Request>& requests) {
  double sum = 0;
  for (const Request& request : requests) sum += static_cast<double>(request.output_tokens.count());
  const double n = static_cast<double>(requests.size());
  double squares = 0;
  for (const Request& request : requests) {
    const double deviation = static_cast<double>(request.output_tokens.count()) - sum / n;
    squares += deviation * deviation;
  }
  return {sum / n, std::sqrt(squares / n) / (sum / n)};
}

TEST_CASE("log-normal lengths keep mean and CV through the rounding") {
  // The sample mean lies within 4.5 standard errors cv/sqrt(n) of the mean. The sample variance's standard error is
  // var * sqrt((kurtosis - 1)/n), with kurtosis w^4 + 2 w^3 + 3 w^2 - 3, w = 1 + cv^2; the CV's relative error is half
  // of that. Rounding by chance adds up to 1/4 to the variance.
  constexpr std::int64_t kRequests = 200'000;
  const double n = static_cast<double>(kRequests);
  const auto [mean, cv] = GENERATE(std::pair(1154.7, 0.69), std::pair(211.1, 0.61), std::pair(20.5, 0.3),
                                   std::pair(512.25, 0.0), std::pair(1000.0, 0.01));
  const Moments seen = output_moments(generate(spec_of(kRequests, constant(1), lognormal(mean, cv))));
  const double deviation = std::sqrt(mean * mean * cv * cv + 0.25);
  CHECK(std::abs(seen.mean - mean) <= 4.5 * deviation / std::sqrt(n));
  const double w = 1 + cv * cv;
  const double kurtosis = w * w * w * w + 2 * w * w * w + 3 * w * w - 3;
  const double tolerance = 4.5 * 0.5 * std::sqrt((kurtosis + 2) / n) + 0.01;
  CHECK(seen.cv >= cv * (1 - tolerance));
  CHECK(seen.cv <= std::hypot(cv, 0.5 / mean) * (1 + tolerance));
}

TEST_CASE("uniform lengths: both ends occur, mean and CV of the closed form") {
  // Uniform over m = high - low + 1 whole numbers: variance (m^2 - 1) / 12.
  const std::vector<Request> requests = generate(spec_of(100'000, constant(1), uniform(10, 29)));
  const Moments seen = output_moments(requests);
  const double deviation = std::sqrt((20.0 * 20.0 - 1) / 12);
  CHECK(std::abs(seen.mean - 19.5) <= 4.5 * deviation / std::sqrt(100'000.0));
  CHECK(seen.cv == Approx(deviation / 19.5).epsilon(0.01));
  const auto [low, high] =
      std::minmax_element(requests.begin(), requests.end(),
                          [](const Request& a, const Request& b) { return a.output_tokens < b.output_tokens; });
  CHECK(low->output_tokens == Tokens(10));
  CHECK(high->output_tokens == Tokens(29));
}

TEST_CASE("lengths are at least 1 and at most max") {
  LengthSpec output = lognormal(1, 3);
  output.max = Tokens(40);
  std::int64_t ones = 0;
  std::int64_t longest = 0;
  for (const Request& request : generate(spec_of(20'000, constant(3), output))) {
    REQUIRE(request.prompt_tokens == Tokens(3));
    REQUIRE(request.output_tokens >= Tokens(1));
    REQUIRE(request.output_tokens <= Tokens(40));
    REQUIRE(request.max_tokens == request.output_tokens);
    ones += request.output_tokens == Tokens(1) ? 1 : 0;
    longest += request.output_tokens == Tokens(40) ? 1 : 0;
  }
  CHECK(ones > 0);
  CHECK(longest > 0);
}

TEST_CASE("Poisson arrivals: rate, CV 1 and dispersion 1") {
  // Exponential gaps: the mean's standard error is 1/sqrt(n), the CV's about 1/sqrt(n); the dispersion over B bins has
  // standard error sqrt(2/B).
  const std::vector<Request> requests = generate(spec_of(200'000, constant(1), constant(1)));
  ListSource source(requests);
  const TraceStatistics seen = measure(source);
  CHECK(requests.front().arrival == SimTime(0));
  CHECK(seen.rate_per_s == Approx(5).epsilon(4.5 / std::sqrt(200'000.0)));
  CHECK(seen.gap_cv == Approx(1).epsilon(4.5 / std::sqrt(200'000.0)));
  CHECK(std::abs(seen.dispersion_1s - 1) <= 4.5 * std::sqrt(2 / 40'000.0));
  CHECK(std::abs(seen.dispersion_60s - 1) <= 4.5 * std::sqrt(2 / 667.0));
}

TEST_CASE("constant arrivals stand at k / rate, without drift") {
  const std::vector<Request> requests = generate(spec_of(3001, constant(1), constant(1), "constant", 3));
  CHECK(requests[1].arrival == SimTime(333'333'333));
  CHECK(requests[2].arrival == SimTime(666'666'667));
  CHECK(requests[3000].arrival == SimTime(1'000'000'000'000));
}

TEST_CASE("geometric lengths: the mean, the share of ones, and no memory") {
  Generator generator(spec_of(200'000, geometric(20), geometric(1)));
  std::array<Request, 256> buffer;
  double sum = 0;
  double ones = 0;
  double beyond = 0;  // longer than 20
  double twice = 0;   // longer than 40
  while (const std::size_t n = generator.read(buffer)) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto length = static_cast<double>(buffer[i].prompt_tokens.count());
      sum += length;
      ones += length == 1 ? 1 : 0;
      beyond += length > 20 ? 1 : 0;
      twice += length > 40 ? 1 : 0;
      REQUIRE(buffer[i].output_tokens == Tokens(1));
    }
  }
  // Standard errors: 19.5 / sqrt(n) = 0.044; sqrt(0.05 x 0.95 / n) = 0.0005; of the ratio about 0.002.
  CHECK(sum / 200'000 == Approx(20).margin(0.17));
  CHECK(ones / 200'000 == Approx(0.05).margin(0.002));
  CHECK(twice / beyond == Approx(std::pow(0.95, 20)).margin(0.008));
}

TEST_CASE("one distribution never shifts another, and the seed decides all") {
  const GeneratorSpec spec = spec_of(1000, lognormal(100, 1), lognormal(50, 1));
  const std::vector<Request> before = generate(spec);
  CHECK(same(before, generate(spec)));
  GeneratorSpec longer = spec;
  longer.prompt_tokens = uniform(1, 9000);
  const std::vector<Request> after = generate(longer);
  for (std::size_t i = 0; i < before.size(); ++i) {
    REQUIRE(after[i].arrival == before[i].arrival);
    REQUIRE(after[i].output_tokens == before[i].output_tokens);
  }
  GeneratorSpec other = spec;
  other.seed = 8;
  CHECK_FALSE(same(before, generate(other)));
}

TEST_CASE("spans of every size draw the same requests") {
  const GeneratorSpec spec = spec_of(1000, lognormal(100, 1), uniform(1, 50));
  const std::vector<Request> whole = generate(spec);
  Generator one_by_one(spec);
  std::vector<Request> pieces;
  Request request;
  while (one_by_one.read(std::span(&request, 1)) == 1) pieces.push_back(request);
  CHECK(same(pieces, whole));
}

TEST_CASE("everything wrong with a generator is told at once") {
  GeneratorSpec spec = spec_of(-1, lognormal(0, -1), uniform(9, 3), "poison", 0);
  CHECK_THROWS_WITH(Generator(spec),
                    "requests: found -1, expected 0 or more\n"
                    "arrivals: unknown process \"poison\"; did you mean \"poisson\"?\n"
                    "prompt_tokens: mean: found 0, expected 1 to 1000000000 tokens\n"
                    "prompt_tokens: cv: found -1, expected 0 to 100\n"
                    "output_tokens: low: found 9, above high: 3");
  spec = spec_of(10, constant(0), lognormal(10, 1), "constant", 1e-9);
  spec.output_tokens.max = Tokens(0);
  CHECK_THROWS_WITH(Generator(spec),
                    "arrivals: 10 requests at 1e-09 req/s take more than 100000000 s\n"
                    "prompt_tokens: value: found 0, expected 1 to 1000000000 tokens\n"
                    "output_tokens: max: found 0, expected 1 token or more");
}

TEST_CASE("every name of the tables has a doc, keys and a refusal of the empty spec") {
  for (const ArrivalEntry& entry : arrival_processes()) {
    CHECK_FALSE(entry.doc.empty());
    CHECK_FALSE(entry.keys.empty());
    Diagnostics errors;
    ArrivalSpec empty;
    empty.rate_per_s = 0;
    entry.check(empty, errors);
    CHECK_FALSE(errors.empty());
  }
  for (const LengthEntry& entry : length_distributions()) {
    CHECK_FALSE(entry.doc.empty());
    CHECK_FALSE(entry.keys.empty());
    Diagnostics errors;
    entry.check({}, errors);
    CHECK_FALSE(errors.empty());
  }
}

// Zipf with exponent 1 over 4 groups: shares 12/25, 6/25, 4/25, 3/25. 40,000 draws: five standard deviations are within
// 0.0125.
TEST_CASE("shared beginnings are drawn by Zipf's law, cut at the prompt's end, and shift no other draw") {
  GeneratorSpec spec = spec_of(40'000, constant(100), constant(5));
  const std::vector<Request> plain = generate(spec);
  spec.prefix = PrefixSpec{4, Tokens(64), 1};
  const std::vector<Request> shared = generate(spec);
  std::array<double, 5> count{};
  for (std::size_t i = 0; i < shared.size(); ++i) {
    REQUIRE((shared[i].prefix >= 1 && shared[i].prefix <= 4));
    REQUIRE(shared[i].prefix_tokens == 64);
    REQUIRE(shared[i].arrival == plain[i].arrival);
    count[shared[i].prefix] += 1;
  }
  for (std::size_t group = 1; group <= 4; ++group) {
    CHECK(count[group] / 40'000 == Approx(12.0 / 25 / static_cast<double>(group)).margin(0.0125));
  }
  spec.prefix->tokens = Tokens(500);
  CHECK(generate(spec).front().prefix_tokens == 100);
  spec.prefix->groups = 0;
  CHECK_THROWS_AS(generate(spec), InputError);
}

}  // namespace
}  // namespace blockyard::workload
