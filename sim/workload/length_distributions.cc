// The distributions of prompt and output lengths that a scenario may name.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/workload/generator.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {
namespace {

constexpr Tokens kLongest{kLongestLength};

Tokens clamped(Tokens length, Tokens max) { return std::clamp(length, Tokens(1), max); }

Tokens longest(const LengthSpec& spec) { return std::min(spec.max.value_or(kLongest), kLongest); }

void check_tokens(std::string_view key, Tokens value, Diagnostics& errors) {
  if (value < Tokens(1) || value > kLongest) {
    errors.add({}, fmt::format("{}: found {}, expected 1 to {} tokens", key, value.count(), kLongestLength));
  }
}

// exp(normal) with the given mean and coefficient of variation; p50 = mean / sqrt(1 + cv^2).
class LogNormal final : public LengthDistribution {
 public:
  explicit LogNormal(const LengthSpec& spec) : mean_(spec.mean), cv_(spec.cv), max_(longest(spec)) {}

  static void check(const LengthSpec& spec, Diagnostics& errors) {
    if (!(spec.mean >= 1 && spec.mean <= static_cast<double>(kLongestLength))) {
      errors.add({}, fmt::format("mean: found {}, expected 1 to {} tokens", spec.mean, kLongestLength));
    }
    if (!(spec.cv >= 0 && spec.cv <= 100)) errors.add({}, fmt::format("cv: found {}, expected 0 to 100", spec.cv));
  }

  void draw(RandomStream& stream, std::span<Tokens> out) override {
    for (Tokens& length : out) {
      const double exact = std::min(stream.lognormal(mean_, cv_), static_cast<double>(kLongestLength));
      length = clamped(Tokens(static_cast<std::int64_t>(std::floor(exact + stream.uniform()))), max_);
    }
  }

 private:
  double mean_;
  double cv_;
  Tokens max_;
};

// 1, 2, 3, ... with P(n) = (1 - 1/mean)^(n-1) / mean: a token is the last with the same chance each time, so that what
// is left never depends on what has been. Its coefficient of variation is sqrt(1 - 1/mean).
class Geometric final : public LengthDistribution {
 public:
  explicit Geometric(const LengthSpec& spec) : log_survival_(std::log1p(-1 / spec.mean)), max_(longest(spec)) {}

  static void check(const LengthSpec& spec, Diagnostics& errors) {
    if (!(spec.mean >= 1 && spec.mean <= static_cast<double>(kLongestLength))) {
      errors.add({}, fmt::format("mean: found {}, expected 1 to {} tokens", spec.mean, kLongestLength));
    }
  }

  // Inverse transform: P(length > n) = (1 - 1/mean)^n.
  void draw(RandomStream& stream, std::span<Tokens> out) override {
    for (Tokens& length : out) {
      const double survived = std::log1p(-stream.uniform()) / log_survival_;
      const double exact = std::min(1 + std::floor(survived), static_cast<double>(kLongestLength));
      length = clamped(Tokens(static_cast<std::int64_t>(exact)), max_);
    }
  }

 private:
  double log_survival_;  // -inf for a mean of 1: every draw is 1
  Tokens max_;
};

class Uniform final : public LengthDistribution {
 public:
  explicit Uniform(const LengthSpec& spec) : low_(spec.low), high_(spec.high), max_(longest(spec)) {}

  static void check(const LengthSpec& spec, Diagnostics& errors) {
    check_tokens("low", spec.low, errors);
    check_tokens("high", spec.high, errors);
    if (spec.low > spec.high) {
      errors.add({}, fmt::format("low: found {}, above high: {}", spec.low.count(), spec.high.count()));
    }
  }

  void draw(RandomStream& stream, std::span<Tokens> out) override {
    for (Tokens& length : out) length = clamped(Tokens(stream.integer(low_.count(), high_.count())), max_);
  }

 private:
  Tokens low_;
  Tokens high_;
  Tokens max_;
};

class Constant final : public LengthDistribution {
 public:
  explicit Constant(const LengthSpec& spec) : value_(clamped(spec.value, longest(spec))) {}

  static void check(const LengthSpec& spec, Diagnostics& errors) { check_tokens("value", spec.value, errors); }

  void draw(RandomStream& /*stream*/, std::span<Tokens> out) override { std::fill(out.begin(), out.end(), value_); }

 private:
  Tokens value_;
};

template <class Distribution>
std::unique_ptr<LengthDistribution> make(const LengthSpec& spec) {
  return std::make_unique<Distribution>(spec);
}

constexpr std::array<std::string_view, 2> kMeanAndCv{"mean", "cv"};
constexpr std::array<std::string_view, 1> kMean{"mean"};
constexpr std::array<std::string_view, 2> kLowAndHigh{"low", "high"};
constexpr std::array<std::string_view, 1> kValue{"value"};
constexpr std::array<LengthEntry, 4> kDistributions{{
    {"lognormal", "many short, few long: by mean and coefficient of variation", kMeanAndCv, LogNormal::check,
     make<LogNormal>},
    {"geometric", "as if each token were the last with the same chance: by mean", kMean, Geometric::check,
     make<Geometric>},
    {"uniform", "every length from low to high, both included", kLowAndHigh, Uniform::check, make<Uniform>},
    {"constant", "always the same length", kValue, Constant::check, make<Constant>},
}};

}  // namespace

std::span<const LengthEntry> length_distributions() { return kDistributions; }

}  // namespace blockyard::workload
