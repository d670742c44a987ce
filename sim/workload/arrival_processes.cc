// The arrival processes that a scenario may name.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "sim/workload/generator.h"

namespace blockyard::workload {
namespace {

void check_rate(const ArrivalSpec& spec, Diagnostics& errors) {
  if (!(spec.rate_per_s > 0 && spec.rate_per_s <= 1e9)) {
    errors.add({}, fmt::format("arrivals: rate: found {}, expected above 0, up to 1e9 req/s", spec.rate_per_s));
  }
}

// Independent exponential gaps of mean 1 / rate, each rounded to the nearest ns.
class Poisson final : public ArrivalProcess {
 public:
  explicit Poisson(const ArrivalSpec& spec) : mean_gap_s_(1 / spec.rate_per_s) {}
  void draw(RandomStream& stream, std::span<SimTime> out) override {
    for (SimTime& arrival : out) {
      arrival = next_;
      next_ += to_time(stream.exponential(mean_gap_s_));
    }
  }

 private:
  Seconds mean_gap_s_;
  SimTime next_;
};

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

template <class Process>
std::unique_ptr<ArrivalProcess> make(const ArrivalSpec& spec) {
  return std::make_unique<Process>(spec);
}

constexpr std::array<std::string_view, 1> kRate{"rate"};
constexpr std::array<ArrivalEntry, 2> kProcesses{{
    {"poisson", "independent exponential gaps: many users who know nothing of each other", kRate, check_rate,
     make<Poisson>},
    {"constant", "equal gaps", kRate, check_rate, make<Constant>},
}};

}  // namespace

std::span<const ArrivalEntry> arrival_processes() { return kProcesses; }

}  // namespace blockyard::workload
