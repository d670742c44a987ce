// The arrival processes that a scenario may name, and what is wrong with a spec of each.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/check.h"
#include "sim/workload/generator.h"

namespace blockyard::workload {
namespace {

constexpr double kHighestRate = 1e9;

// Keeps every sum of times below 64 bits of ns.
constexpr double kLongestStretchSeconds = 1e7;
constexpr double kMostCvSquaredPerRate = 1e6;
// Each change of state between two requests costs time; so does each draw that a daily curve's trough turns down, about
// (rate x period)^(2/3) of them in the deepest.
constexpr double kMostChangesPerRequest = 1000;
constexpr double kMostRequestsPerPeriod = 1e11;

void check_rate_of(std::string_view key, double rate_per_s, double low, Diagnostics& errors) {
  if (rate_per_s >= low && rate_per_s <= kHighestRate) return;
  errors.add({}, fmt::format("{}: found {}, expected {} to 1e9 req/s", key, rate_per_s, low));
}

void check_rate(const ArrivalSpec& spec, Diagnostics& errors) {
  if (!(spec.rate_per_s > 0 && spec.rate_per_s <= kHighestRate)) {
    errors.add({}, fmt::format("rate: found {}, expected above 0, up to 1e9 req/s", spec.rate_per_s));
  }
}

void check_time(std::string_view key, SimTime time, Diagnostics& errors) {
  if (time > SimTime(0) && to_seconds(time) <= kLongestStretchSeconds) return;
  errors.add(
      {}, fmt::format("{}: found {} s, expected above 0, up to {} s", key, to_seconds(time), kLongestStretchSeconds));
}

void check_cv(const ArrivalSpec& spec, Diagnostics& errors) {
  check_rate(spec, errors);
  // Beyond 30 the sums of gaps no longer settle within any run; below 0.01 `constant` is meant.
  if (!(spec.cv >= 0.01 && spec.cv <= 30)) {
    errors.add({}, fmt::format("cv: found {}, expected 0.01 to 30", spec.cv));
  }
  // A gap has to fit the clock: the longest that can be drawn is some cv^2 x 40 times the mean.
  const double lowest = spec.cv * spec.cv / kMostCvSquaredPerRate;
  if (spec.cv > 1 && spec.rate_per_s > 0 && spec.rate_per_s < lowest) {
    errors.add(
        {}, fmt::format("rate: found {}, expected {} req/s or more with a cv of {}", spec.rate_per_s, lowest, spec.cv));
  }
}

void check_bursts(const ArrivalSpec& spec, Diagnostics& errors) {
  check_rate(spec, errors);
  check_rate_of("burst_rate", spec.burst_rate_per_s, spec.rate_per_s, errors);
  check_time("burst", spec.burst, errors);
  check_time("quiet", spec.quiet, errors);
  if (errors.empty() && quiet_rate(spec) < 0) {
    errors.add({}, fmt::format("burst_rate: bursts of {} s at {} req/s every {} s alone are more than rate: {} "
                               "req/s",
                               to_seconds(spec.burst), spec.burst_rate_per_s, to_seconds(spec.burst + spec.quiet),
                               spec.rate_per_s));
  }
  if (errors.empty() && 2 > kMostChangesPerRequest * spec.rate_per_s * to_seconds(spec.burst + spec.quiet)) {
    errors.add({}, fmt::format("burst: bursts every {} s are more than {} between two requests at {} req/s",
                               to_seconds(spec.burst + spec.quiet), kMostChangesPerRequest / 2, spec.rate_per_s));
  }
}

void check_diurnal(const ArrivalSpec& spec, Diagnostics& errors) {
  check_rate(spec, errors);
  check_time("period", spec.period, errors);
  if (!(spec.amplitude >= 0 && spec.amplitude <= 1)) {
    errors.add({}, fmt::format("amplitude: found {}, expected 0 to 1", spec.amplitude));
  }
  if (errors.empty() && spec.rate_per_s * to_seconds(spec.period) > kMostRequestsPerPeriod) {
    errors.add({},
               fmt::format("period: found {} s with {} requests in it, expected {} or fewer", to_seconds(spec.period),
                           spec.rate_per_s * to_seconds(spec.period), kMostRequestsPerPeriod));
  }
}

void check_curve(const ArrivalSpec& spec, Diagnostics& errors) {
  if (spec.curve.empty() || spec.curve.front().from != SimTime(0)) {
    errors.add({}, "curve: expected a first point at 0 s");
  }
  for (std::size_t i = 0; i < spec.curve.size(); ++i) {
    check_rate_of("curve", spec.curve[i].rate_per_s, 0, errors);
    if (to_seconds(spec.curve[i].from) > 10 * kLongestStretchSeconds) {
      errors.add({}, fmt::format("curve: found a point at {} s, expected at most {} s", to_seconds(spec.curve[i].from),
                                 10 * kLongestStretchSeconds));
    }
    if (i > 0 && spec.curve[i].from <= spec.curve[i - 1].from) {
      errors.add({}, fmt::format("curve: {} s does not come after {} s", to_seconds(spec.curve[i].from),
                                 to_seconds(spec.curve[i - 1].from)));
    }
  }
  if (!spec.curve.empty() && spec.curve.back().rate_per_s == 0) {
    errors.add({}, "curve: the last rate holds for ever and cannot be 0");
  }
}

void check_spikes(const ArrivalSpec& spec, Diagnostics& errors) {
  check_rate(spec, errors);
  check_time("period", spec.period, errors);
  if (spec.spike_requests < 1 || spec.spike_requests > 1'000'000) {
    errors.add({}, fmt::format("spike_requests: found {}, expected 1 to 1000000", spec.spike_requests));
  }
  if (spec.spike_length < SimTime(0) || spec.spike_length > spec.period) {
    errors.add({}, fmt::format("spike_length: found {} s, expected 0 to the period of {} s",
                               to_seconds(spec.spike_length), to_seconds(spec.period)));
  }
}

constexpr std::array<std::string_view, 1> kRate{"rate"};
constexpr std::array<std::string_view, 2> kRateAndCv{"rate", "cv"};
constexpr std::array<std::string_view, 4> kBursts{"rate", "burst_rate", "burst", "quiet"};
constexpr std::array<std::string_view, 4> kDaily{"rate", "period", "amplitude", "peak"};
constexpr std::array<std::string_view, 1> kCurve{"curve"};
constexpr std::array<std::string_view, 4> kSpikes{"rate", "period", "spike_requests", "spike_length"};
constexpr std::array<ArrivalEntry, 9> kProcesses{{
    {"poisson", "independent exponential gaps: many users who know nothing of each other", kRate, check_rate,
     make_poisson},
    {"constant", "equal gaps", kRate, check_rate, make_constant},
    {"gamma", "independent gamma gaps of a given CV: above 1 burstier than Poisson, below 1 smoother", kRateAndCv,
     check_cv, make_gamma},
    {"weibull", "independent Weibull gaps of a given CV: a longer tail than gamma", kRateAndCv, check_cv, make_weibull},
    {"on_off", "Poisson at burst_rate for exactly `burst`, then for `quiet` at what is left of the mean rate", kBursts,
     check_bursts, make_on_off},
    {"mmpp", "likewise with exponential lengths of that mean: a two-state Markov-modulated Poisson process", kBursts,
     check_bursts, make_mmpp},
    {"diurnal", "Poisson around a daily curve: rate x (1 + amplitude x cos(2 pi (t - peak) / period))", kDaily,
     check_diurnal, make_diurnal},
    {"piecewise", "Poisson at the rates of a curve: \"0 s: 2 req/s, 10 min: 8 req/s\"", kCurve, check_curve,
     make_piecewise},
    {"spikes", "Poisson, and every period so many requests on top, over spike_length", kSpikes, check_spikes,
     make_spikes},
}};

}  // namespace

std::span<const ArrivalEntry> arrival_processes() { return kProcesses; }

std::optional<double> mean_rate_per_s(const ArrivalSpec& spec) {
  if (spec.process == "piecewise") return std::nullopt;
  const bool spikes = spec.process == "spikes" && spec.period > SimTime(0);
  return spec.rate_per_s + (spikes ? static_cast<double>(spec.spike_requests) / to_seconds(spec.period) : 0);
}

ArrivalSpec with_rates_times(ArrivalSpec spec, double factor) {
  CHECK_LAW(spec.process != "spikes" || factor == 1, "spikes of {} requests, {} times", spec.spike_requests, factor);
  spec.rate_per_s *= factor;
  spec.burst_rate_per_s *= factor;
  for (RatePoint& point : spec.curve) point.rate_per_s *= factor;
  return spec;
}

}  // namespace blockyard::workload
