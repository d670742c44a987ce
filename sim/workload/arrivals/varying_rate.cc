// Poisson processes whose rate changes: by a schedule (on_off, diurnal, piecewise) or by chance (mmpp), and with spikes
// on top. A rate that stays for a while is drawn exactly: an exponential gap that reaches beyond the change is drawn
// again from there, which the memoryless gap allows. The daily curve is drawn by thinning (Lewis & Shedler 1979).
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "sim/base/check.h"
#include "sim/workload/arrivals/arrival_process.h"

namespace blockyard::workload {
namespace {

// Stretches of constant rate, one after the other; Stretches says how each ends and what comes next. 0 is a rate.
template <class Stretches>
class StepwisePoisson final : public ArrivalProcess {
 public:
  StepwisePoisson(Stretches stretches, bool going_on) : stretches_(std::move(stretches)), going_on_(going_on) {}
  void draw(RandomStream& stream, std::span<SimTime> out) override {
    for (SimTime& arrival : out) {
      if (!started_) stretches_.start(stream);
      arrival = started_ || going_on_ ? next(stream) : SimTime(0);
      started_ = true;
    }
  }

 private:
  SimTime next(RandomStream& stream) {
    for (;;) {
      const double rate = stretches_.rate_per_s();
      if (rate > 0) {
        const double gap_s = stream.exponential(1 / rate);
        // Compared as seconds, since a gap at a very low rate may be longer than the clock.
        if (gap_s < to_seconds(stretches_.end() - now_)) return now_ += to_time(gap_s);
      }
      now_ = stretches_.end();
      stretches_.go_on(stream);
    }
  }

  Stretches stretches_;
  bool going_on_;
  SimTime now_;
  bool started_ = false;
};

// Bursts and quiet times of fixed length, beginning with a burst; if it was going on, anywhere.
class OnOff {
 public:
  explicit OnOff(const ArrivalSpec& spec) : spec_(spec), end_(spec.burst) {}
  void start(RandomStream& stream) {
    if (!spec_.going_on) return;
    const SimTime at = to_time(stream.uniform() * to_seconds(spec_.burst + spec_.quiet));
    burst_ = at < spec_.burst;
    end_ = (burst_ ? spec_.burst : spec_.burst + spec_.quiet) - at;
  }
  [[nodiscard]] double rate_per_s() const { return burst_ ? spec_.burst_rate_per_s : quiet_rate(spec_); }
  [[nodiscard]] SimTime end() const { return end_; }
  void go_on(RandomStream& /*stream*/) {
    burst_ = !burst_;
    end_ += burst_ ? spec_.burst : spec_.quiet;
  }

 private:
  ArrivalSpec spec_;
  bool burst_ = true;
  SimTime end_;
};

// Bursts and quiet times of exponential length: the two-state Markov-modulated Poisson process. It starts in its
// stationary state, so that the mean rate holds from the beginning.
class Mmpp {
 public:
  explicit Mmpp(const ArrivalSpec& spec) : spec_(spec) {}
  void start(RandomStream& stream) {
    burst_ = stream.uniform() * to_seconds(spec_.burst + spec_.quiet) < to_seconds(spec_.burst);
    end_ = length(stream);
  }
  [[nodiscard]] double rate_per_s() const { return burst_ ? spec_.burst_rate_per_s : quiet_rate(spec_); }
  [[nodiscard]] SimTime end() const { return end_; }
  void go_on(RandomStream& stream) {
    burst_ = !burst_;
    end_ += length(stream);
  }

 private:
  [[nodiscard]] SimTime length(RandomStream& stream) const {
    return std::max(SimTime(1), to_time(stream.exponential(to_seconds(burst_ ? spec_.burst : spec_.quiet))));
  }

  ArrivalSpec spec_;
  bool burst_ = true;
  SimTime end_;
};

class Piecewise {
 public:
  explicit Piecewise(const ArrivalSpec& spec) : curve_(spec.curve) {}
  void start(RandomStream& /*stream*/) {}
  [[nodiscard]] double rate_per_s() const { return curve_[at_].rate_per_s; }
  [[nodiscard]] SimTime end() const { return at_ + 1 < curve_.size() ? curve_[at_ + 1].from : kNever; }
  void go_on(RandomStream& /*stream*/) {
    CHECK_LAW(at_ + 1 < curve_.size(), "the last rate of {} points ends", curve_.size());
    ++at_;
  }

 private:
  std::vector<RatePoint> curve_;
  std::size_t at_ = 0;
};

// rate x (1 + amplitude x cos(2 pi (t - peak) / period)).
class Diurnal final : public ArrivalProcess {
 public:
  explicit Diurnal(const ArrivalSpec& spec) : spec_(spec) {}
  void draw(RandomStream& stream, std::span<SimTime> out) override {
    if (spec_.going_on) go_on(stream);
    spec_.going_on = false;
    for (SimTime& arrival : out) {
      arrival = now_;
      go_on(stream);
    }
  }

 private:
  void go_on(RandomStream& stream) {
    const double highest = 1 + spec_.amplitude;
    do now_ += to_time(stream.exponential(1 / (spec_.rate_per_s * highest)));
    while (stream.uniform() * highest >= share(now_));
  }
  [[nodiscard]] double share(SimTime t) const {
    const double turns = to_seconds(t - spec_.peak) / to_seconds(spec_.period);
    return 1 + spec_.amplitude * std::cos(2 * std::numbers::pi * turns);
  }

  ArrivalSpec spec_;
  SimTime now_;
};

// A Poisson process, and every `period` a spike of requests on top of it, uniform over the spike's length.
class Spikes final : public ArrivalProcess {
 public:
  explicit Spikes(const ArrivalSpec& spec) : spec_(spec), spike_(spec.period) {}
  void draw(RandomStream& stream, std::span<SimTime> out) override {
    if (spec_.going_on) base_ = to_time(stream.exponential(1 / spec_.rate_per_s));
    spec_.going_on = false;
    for (SimTime& arrival : out) {
      while (spiking_.empty() && spike_ <= base_) begin_spike(stream);
      if (!spiking_.empty() && spiking_.back() <= base_) {
        arrival = spiking_.back();
        spiking_.pop_back();
      } else {
        arrival = base_;
        base_ += to_time(stream.exponential(1 / spec_.rate_per_s));
      }
    }
  }

 private:
  void begin_spike(RandomStream& stream) {
    for (std::int64_t i = 0; i < spec_.spike_requests; ++i) {
      spiking_.push_back(spike_ + SimTime(stream.integer(0, spec_.spike_length.count())));
    }
    std::sort(spiking_.begin(), spiking_.end(), std::greater<>());
    spike_ += spec_.period;
  }

  ArrivalSpec spec_;
  SimTime base_;
  SimTime spike_;                 // when the next one begins
  std::vector<SimTime> spiking_;  // still to come of the one that has begun, the last first
};

template <class Stretches>
std::unique_ptr<ArrivalProcess> stepwise(const ArrivalSpec& spec) {
  return std::make_unique<StepwisePoisson<Stretches>>(Stretches(spec), spec.going_on);
}

}  // namespace

double quiet_rate(const ArrivalSpec& spec) {
  const double burst_s = to_seconds(spec.burst);
  const double quiet_s = to_seconds(spec.quiet);
  const double rest = spec.rate_per_s * (burst_s + quiet_s) - spec.burst_rate_per_s * burst_s;
  // A burst rate given so that nothing is left for quiet times does not leave a negative crumb.
  return rest < 0 && rest > -1e-9 * spec.rate_per_s * (burst_s + quiet_s) ? 0 : rest / quiet_s;
}

std::unique_ptr<ArrivalProcess> make_on_off(const ArrivalSpec& spec) { return stepwise<OnOff>(spec); }
std::unique_ptr<ArrivalProcess> make_mmpp(const ArrivalSpec& spec) { return stepwise<Mmpp>(spec); }
std::unique_ptr<ArrivalProcess> make_piecewise(const ArrivalSpec& spec) { return stepwise<Piecewise>(spec); }
std::unique_ptr<ArrivalProcess> make_diurnal(const ArrivalSpec& spec) { return std::make_unique<Diurnal>(spec); }
std::unique_ptr<ArrivalProcess> make_spikes(const ArrivalSpec& spec) { return std::make_unique<Spikes>(spec); }

}  // namespace blockyard::workload
