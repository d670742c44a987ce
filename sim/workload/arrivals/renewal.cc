// Processes whose gaps are independent of each other: constant, exponential (Poisson), gamma, Weibull.
#include <cmath>

#include "sim/workload/arrivals/arrival_process.h"

namespace blockyard::workload {
namespace {

// Request k at k / rate, rounded by itself: no drift.
class Constant final : public ArrivalProcess {
 public:
  explicit Constant(const ArrivalSpec& spec) : rate_per_s_(spec.rate_per_s) {}
  void draw(RandomStream& /*stream*/, std::span<SimTime> out) override {
    for (SimTime& arrival : out) {
      arrival = SimTime(std::llround(static_cast<double>(count_++) * 1e9 / rate_per_s_));
    }
  }

 private:
  double rate_per_s_;
  std::int64_t count_ = 0;
};

// Gap(stream) draws one gap in seconds.
template <class Gap>
class Renewal final : public ArrivalProcess {
 public:
  explicit Renewal(Gap gap) : gap_(gap) {}
  void draw(RandomStream& stream, std::span<SimTime> out) override {
    for (SimTime& arrival : out) {
      arrival = next_;
      next_ += to_time(gap_(stream));
    }
  }

 private:
  Gap gap_;
  SimTime next_;
};

template <class Gap>
std::unique_ptr<ArrivalProcess> renewal(Gap gap) {
  return std::make_unique<Renewal<Gap>>(gap);
}

}  // namespace

std::unique_ptr<ArrivalProcess> make_constant(const ArrivalSpec& spec) { return std::make_unique<Constant>(spec); }

std::unique_ptr<ArrivalProcess> make_poisson(const ArrivalSpec& spec) {
  return renewal([mean = 1 / spec.rate_per_s](RandomStream& stream) { return stream.exponential(mean); });
}

std::unique_ptr<ArrivalProcess> make_gamma(const ArrivalSpec& spec) {
  const double shape = 1 / (spec.cv * spec.cv);
  return renewal(
      [shape, scale = 1 / (spec.rate_per_s * shape)](RandomStream& stream) { return stream.gamma(shape, scale); });
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
  return renewal([shape, scale](RandomStream& stream) { return scale * std::pow(stream.exponential(1), 1 / shape); });
}

}  // namespace blockyard::workload
