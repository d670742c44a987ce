// Processes whose gaps are independent of each other: constant, exponential (Poisson), gamma, Weibull. One that was
// going on is looked at within a gap that is drawn in proportion to its length, anywhere in it (Cox, Renewal Theory,
// 1962, sec. 5.2). Such a gap of a gamma distribution is gamma with a shape greater by 1; of a Weibull distribution
// with shape k its k-th power is gamma with shape 1 + 1/k.
#include <algorithm>
#include <cmath>

#include "sim/workload/arrivals/arrival_process.h"

namespace blockyard::workload {
namespace {

// Request k at k / rate, rounded by itself: no drift.
class Constant final : public ArrivalProcess {
 public:
  explicit Constant(const ArrivalSpec& spec) : rate_per_s_(spec.rate_per_s), going_on_(spec.going_on) {}
  void draw(RandomStream& stream, std::span<SimTime> out) override {
    if (going_on_) first_ = stream.uniform();
    going_on_ = false;
    for (SimTime& arrival : out) {
      arrival = SimTime(std::llround((first_ + static_cast<double>(count_++)) * 1e9 / rate_per_s_));
    }
  }

 private:
  double rate_per_s_;
  bool going_on_;
  double first_ = 0;  // in gaps
  std::int64_t count_ = 0;
};

constexpr Seconds kLongestWait = 1e9;  // for the first arrival, where a gap has a very long tail

// Gap(stream) draws one gap in seconds, Wide(stream) one in proportion to its length.
template <class Gap, class Wide>
class Renewal final : public ArrivalProcess {
 public:
  Renewal(const ArrivalSpec& spec, Gap gap, Wide wide) : gap_(gap), wide_(wide), going_on_(spec.going_on) {}
  void draw(RandomStream& stream, std::span<SimTime> out) override {
    if (going_on_) next_ = to_time(std::min(kLongestWait, stream.uniform() * wide_(stream)));
    going_on_ = false;
    for (SimTime& arrival : out) {
      arrival = next_;
      next_ += to_time(gap_(stream));
    }
  }

 private:
  Gap gap_;
  Wide wide_;
  bool going_on_;
  SimTime next_;
};

template <class Gap, class Wide>
std::unique_ptr<ArrivalProcess> renewal(const ArrivalSpec& spec, Gap gap, Wide wide) {
  return std::make_unique<Renewal<Gap, Wide>>(spec, gap, wide);
}

}  // namespace

std::unique_ptr<ArrivalProcess> make_constant(const ArrivalSpec& spec) { return std::make_unique<Constant>(spec); }

std::unique_ptr<ArrivalProcess> make_poisson(const ArrivalSpec& spec) {
  const double mean = 1 / spec.rate_per_s;
  return renewal(
      spec, [mean](RandomStream& stream) { return stream.exponential(mean); },
      [mean](RandomStream& stream) { return stream.gamma(2, mean); });
}

std::unique_ptr<ArrivalProcess> make_gamma(const ArrivalSpec& spec) {
  const double shape = 1 / (spec.cv * spec.cv);
  const double scale = 1 / (spec.rate_per_s * shape);
  return renewal(
      spec, [shape, scale](RandomStream& stream) { return stream.gamma(shape, scale); },
      [shape, scale](RandomStream& stream) { return stream.gamma(shape + 1, scale); });
}

// cv^2 = G(1 + 2/k) / G(1 + 1/k)^2 - 1 falls in k, so that halving finds k; in logarithms, since G overflows for small
// k.
double weibull_shape(double cv) {
  double low = 0.05;
  double high = 1000;
  for (int i = 0; i < 100; ++i) {
    const double k = std::sqrt(low * high);
    const double at_k = std::expm1(std::lgamma(1 + 2 / k) - 2 * std::lgamma(1 + 1 / k));
    (at_k > cv * cv ? low : high) = k;
  }
  return std::sqrt(low * high);
}

std::unique_ptr<ArrivalProcess> make_weibull(const ArrivalSpec& spec) {
  const double shape = weibull_shape(spec.cv);
  const double scale = 1 / (spec.rate_per_s * std::exp(std::lgamma(1 + 1 / shape)));
  return renewal(
      spec, [shape, scale](RandomStream& stream) { return scale * std::pow(stream.exponential(1), 1 / shape); },
      [shape, scale](RandomStream& stream) { return scale * std::pow(stream.gamma(1 + 1 / shape, 1), 1 / shape); });
}

}  // namespace blockyard::workload
