// Every process against its closed forms. n gaps of coefficient of variation c: their mean lies within 4.5 c / sqrt(n)
// of the true one, so to say always.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "sim/workload/generator.h"

namespace blockyard::workload {
namespace {

constexpr double kSure = 4.5;

const ArrivalEntry& entry_of(const std::string& process) {
  const auto table = arrival_processes();
  const auto at = std::find_if(table.begin(), table.end(), [&](const ArrivalEntry& e) { return e.name == process; });
  REQUIRE(at != table.end());
  return *at;
}

std::vector<SimTime> arrivals(const ArrivalSpec& spec, std::size_t count, std::uint64_t seed = 3) {
  const ArrivalEntry& entry = entry_of(spec.process);
  Diagnostics errors;
  entry.check(spec, errors);
  for (const Diagnostic& d : errors.list()) FAIL(d.message);
  RandomStream stream(seed, "arrivals");
  std::vector<SimTime> out(count);
  const auto process = entry.make(spec);
  // In two pieces: a process keeps its state between calls.
  process->draw(stream, std::span(out).first(count / 3));
  process->draw(stream, std::span(out).subspan(count / 3));
  REQUIRE(out.front() == SimTime(0));
  REQUIRE(std::is_sorted(out.begin(), out.end()));
  return out;
}

struct Gaps {
  double mean_s = 0;
  double cv = 0;
};

Gaps gaps_of(const std::vector<SimTime>& times) {
  const auto n = static_cast<double>(times.size() - 1);
  const double mean = to_seconds(times.back()) / n;
  double squares = 0;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const double off = to_seconds(times[i] - times[i - 1]) - mean;
    squares += off * off;
  }
  return {mean, std::sqrt(squares / n) / mean};
}

std::int64_t count_within(const std::vector<SimTime>& times, double from_s, double to_s) {
  return std::count_if(times.begin(), times.end(),
                       [&](SimTime t) { return to_seconds(t) >= from_s && to_seconds(t) < to_s; });
}

// Independent Poisson counts: the variance is the mean.
void check_poisson_count(std::int64_t seen, double expected) {
  CHECK(std::abs(static_cast<double>(seen) - expected) <= kSure * std::sqrt(expected) + 1);
}

ArrivalSpec spec_of(std::string process, double rate) {
  ArrivalSpec spec;
  spec.process = std::move(process);
  spec.rate_per_s = rate;
  return spec;
}

TEST_CASE("gamma and Weibull gaps have the rate and the CV that were asked for") {
  constexpr std::size_t kCount = 200'001;
  const std::string process = GENERATE("gamma", "weibull");
  const double cv = GENERATE(0.2, 1.0, 2.5);
  ArrivalSpec spec = spec_of(process, 8);
  spec.cv = cv;
  const Gaps seen = gaps_of(arrivals(spec, kCount));
  CHECK(seen.mean_s * 8 == Approx(1).margin(kSure * cv / std::sqrt(kCount - 1.0)));
  // The standard error of a sample CV with this tail stays below 3 % at these sizes.
  CHECK(seen.cv == Approx(cv).epsilon(0.06));
}

TEST_CASE("a gamma or Weibull CV of 1 is Poisson: a share of 1/e of the gaps is longer than their mean") {
  const std::string process = GENERATE("gamma", "weibull", "poisson");
  constexpr std::size_t kCount = 100'001;
  ArrivalSpec spec = spec_of(process, 2);
  const std::vector<SimTime> times = arrivals(spec, kCount);
  std::int64_t longer = 0;
  for (std::size_t i = 1; i < times.size(); ++i) longer += to_seconds(times[i] - times[i - 1]) > 0.5 ? 1 : 0;
  const double p = std::exp(-1);
  CHECK(std::abs(static_cast<double>(longer) / 1e5 - p) <= kSure * std::sqrt(p * (1 - p) / 1e5));
}

TEST_CASE("the Weibull shape that has a CV: 1 for 1, 2 for the CV of Rayleigh's distribution") {
  CHECK(weibull_shape(1) == Approx(1));
  CHECK(weibull_shape(std::sqrt(4 / 3.14159265358979323846 - 1)) == Approx(2));
}

TEST_CASE("on_off: bursts at their rate, quiet times at what is left of the mean") {
  ArrivalSpec spec = spec_of("on_off", 10);
  spec.burst_rate_per_s = 40;
  spec.burst = to_time(10);
  spec.quiet = to_time(50);  // (10 x 60 - 40 x 10) / 50 = 4 req/s
  const std::vector<SimTime> times = arrivals(spec, 60'000);
  CHECK(quiet_rate(spec) == Approx(4));
  std::int64_t in_bursts = 0;
  std::int64_t in_quiet = 0;
  for (int cycle = 0; cycle < 80; ++cycle) {
    in_bursts += count_within(times, cycle * 60.0, cycle * 60.0 + 10);
    in_quiet += count_within(times, cycle * 60.0 + 10, cycle * 60.0 + 60);
  }
  check_poisson_count(in_bursts, 80 * 400);
  check_poisson_count(in_quiet, 80 * 200);
}

TEST_CASE("on_off with nothing in quiet times leaves them empty") {
  ArrivalSpec spec = spec_of("on_off", 1);
  spec.burst_rate_per_s = 10;
  spec.burst = to_time(1);
  spec.quiet = to_time(9);
  for (const SimTime t : arrivals(spec, 5000)) {
    REQUIRE(std::fmod(to_seconds(t), 10) < 1 + 1e-6);
  }
}

// Counts of a two-state process over long windows have an index of dispersion of
// 1 + 2 p q (h - l)^2 / (rate x (1/burst + 1/quiet)), p and q the shares of time, h and l the rates (Fischer &
// Meier-Hellstern, The Markov-modulated Poisson process cookbook, 1993, sec. 3).
TEST_CASE("mmpp: mean rate, and the dispersion of its counts") {
  ArrivalSpec spec = spec_of("mmpp", 5);
  spec.burst_rate_per_s = 20;
  spec.burst = to_time(2);
  spec.quiet = to_time(8);
  const double quiet = quiet_rate(spec);
  CHECK(quiet == Approx(1.25));
  const std::vector<SimTime> times = arrivals(spec, 400'000);
  const double p = 0.2;
  const double dispersion = 1 + 2 * p * (1 - p) * (20 - quiet) * (20 - quiet) / (5 * (1 / 2.0 + 1 / 8.0));
  const double span = to_seconds(times.back());
  CHECK(std::abs(400'000 - 5 * span) <= kSure * std::sqrt(dispersion * 5 * span));
  constexpr double kWindow = 200;
  const auto windows = static_cast<std::size_t>(span / kWindow);
  std::vector<double> counts(windows);
  for (const SimTime t : times) {
    const auto window = static_cast<std::size_t>(to_seconds(t) / kWindow);
    if (window < windows) ++counts[window];
  }
  double sum = 0;
  for (const double c : counts) sum += c;
  const double mean = sum / static_cast<double>(windows);
  double squares = 0;
  for (const double c : counts) squares += (c - mean) * (c - mean);
  // Over finite windows it is lower by about the correlation time over the window, 1.6 s / 200 s.
  CHECK(squares / static_cast<double>(windows - 1) / mean ==
        Approx(dispersion).epsilon(0.01 + kSure * std::sqrt(2.0 / static_cast<double>(windows))));
}

TEST_CASE("diurnal: the curve integrates to its closed form over every eighth of a day") {
  ArrivalSpec spec = spec_of("diurnal", 50);
  spec.period = to_time(800);
  spec.amplitude = 0.9;
  spec.peak = to_time(200);
  const std::vector<SimTime> times = arrivals(spec, 50 * 800 * 10 + 5000);
  constexpr double kPi = 3.14159265358979323846;
  for (int eighth = 0; eighth < 8; ++eighth) {
    std::int64_t seen = 0;
    for (int day = 0; day < 10; ++day) {
      seen += count_within(times, day * 800.0 + eighth * 100.0, day * 800.0 + eighth * 100.0 + 100);
    }
    const auto integral = [&](double t) { return t + 0.9 * 800 / (2 * kPi) * std::sin(2 * kPi * (t - 200) / 800); };
    check_poisson_count(seen, 10 * 50 * (integral(eighth * 100.0 + 100) - integral(eighth * 100.0)));
  }
}

TEST_CASE("piecewise: each stretch at its rate, a rate of 0 leaves it empty, the last holds for ever") {
  ArrivalSpec spec = spec_of("piecewise", 0);
  spec.curve = {{SimTime(0), 100}, {to_time(50), 0}, {to_time(60), 400}, {to_time(100), 20}};
  const std::vector<SimTime> times = arrivals(spec, 30'000);
  check_poisson_count(count_within(times, 0, 50), 5000);
  CHECK(count_within(times, 50, 60) == 0);
  check_poisson_count(count_within(times, 60, 100), 16'000);
  check_poisson_count(count_within(times, 100, 400), 6000);
}

TEST_CASE("spikes: so many requests in each spike, on top of the rest") {
  ArrivalSpec spec = spec_of("spikes", 10);
  spec.period = to_time(100);
  spec.spike_requests = 500;
  spec.spike_length = to_time(2);
  const std::vector<SimTime> times = arrivals(spec, 45'000);  // 1,500 every 100 s
  std::int64_t in_spikes = 0;
  std::int64_t beside = 0;
  for (int k = 1; k <= 29; ++k) {
    in_spikes += count_within(times, k * 100.0, k * 100.0 + 2 + 1e-8);
    beside += count_within(times, k * 100.0 + 2 + 1e-8, k * 100.0 + 100);
  }
  check_poisson_count(in_spikes - 29 * 500, 29 * 20);
  check_poisson_count(beside, 29 * 980);
  CHECK(count_within(times, 0, 100) < 1200);
}

TEST_CASE("what is wrong with a process is said with its key") {
  const auto problem = [](const ArrivalSpec& spec) {
    Diagnostics errors;
    entry_of(spec.process).check(spec, errors);
    return errors.empty() ? std::string() : errors.list().front().message;
  };
  ArrivalSpec spec = spec_of("on_off", 10);
  spec.burst_rate_per_s = 100;
  spec.burst = to_time(10);
  spec.quiet = to_time(10);
  CHECK_THAT(problem(spec), Catch::Contains("alone are more than rate"));
  spec.burst_rate_per_s = 5;
  CHECK_THAT(problem(spec), Catch::Contains("burst_rate: found 5, expected 10 to 1e9"));
  spec = spec_of("gamma", 1);
  spec.cv = 0;
  CHECK_THAT(problem(spec), Catch::Contains("cv: found 0"));
  spec = spec_of("piecewise", 1);
  CHECK_THAT(problem(spec), Catch::Contains("first point at 0 s"));
  spec.curve = {{SimTime(0), 1}, {SimTime(5), 2}, {SimTime(5), 0}};
  CHECK_THAT(problem(spec), Catch::Contains("does not come after"));
  spec = spec_of("spikes", 1);
  spec.period = to_time(10);
  spec.spike_requests = 10;
  spec.spike_length = to_time(11);
  CHECK_THAT(problem(spec), Catch::Contains("spike_length"));
}

// A process that was going on brings rate x time in any stretch, from 0 on; one that begins with an arrival brings
// more, by far where its gaps are uneven.
TEST_CASE("processes that were going on have their mean rate from the beginning") {
  const std::string process = GENERATE("poisson", "constant", "gamma", "weibull", "on_off", "mmpp", "diurnal");
  ArrivalSpec spec = spec_of(process, 2);
  spec.cv = 4;
  spec.burst_rate_per_s = 6;
  spec.burst = to_time(1);
  spec.quiet = to_time(3);
  spec.period = to_time(2);
  spec.amplitude = 0.9;
  spec.going_on = true;
  constexpr int kRuns = 20'000;
  constexpr double kStretch = 4;  // of a cycle and of two days
  double sum = 0;
  double squares = 0;
  std::vector<SimTime> times(64);
  for (int run = 0; run < kRuns; ++run) {
    RandomStream stream(static_cast<std::uint64_t>(run), "arrivals");
    const auto made = entry_of(process).make(spec);
    double count = 0;
    do {
      made->draw(stream, times);
      count += static_cast<double>(count_within(times, 0, kStretch));
    } while (to_seconds(times.back()) < kStretch);
    sum += count;
    squares += count * count;
  }
  const double mean = sum / kRuns;
  CHECK(std::abs(mean - 2 * kStretch) <= kSure * std::sqrt((squares / kRuns - mean * mean) / kRuns) + 1e-9);
}

TEST_CASE("rates times a factor, and the mean rate of a process") {
  ArrivalSpec spec = spec_of("on_off", 3);
  spec.burst_rate_per_s = 9;
  CHECK(mean_rate_per_s(spec) == 3);
  CHECK(with_rates_times(spec, 2).rate_per_s == 6);
  CHECK(with_rates_times(spec, 2).burst_rate_per_s == 18);
  spec.process = "spikes";
  spec.spike_requests = 50;
  spec.period = to_time(10);
  CHECK(mean_rate_per_s(spec) == 8);
  spec.process = "piecewise";
  spec.curve = {{SimTime(0), 4}};
  CHECK_FALSE(mean_rate_per_s(spec).has_value());
  CHECK(with_rates_times(spec, 0.5).curve.front().rate_per_s == 2);
}

}  // namespace
}  // namespace blockyard::workload
