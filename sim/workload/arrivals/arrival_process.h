// When generated requests arrive. Every process is stationary around `rate` unless its curve says otherwise: bursts
// take from quiet times what they add, so that changing the burstiness keeps the load. All draws come from the caller's
// stream; O(1) expected an arrival. Times are nanoseconds, each gap rounded once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/base/quantities.h"
#include "sim/base/random.h"

namespace blockyard::workload {

// From `from` on, requests come at this rate, until the next point; the last one holds for ever.
struct RatePoint {
  SimTime from;
  double rate_per_s = 0;
};

// Only the fields that the process's table line names are used.
struct ArrivalSpec {
  std::string process = "poisson";  // a name in arrival_processes()
  double rate_per_s = 1;            // mean over a long time; of spikes: of what comes between and under them
  double cv = 1;                    // of the gaps: standard deviation / mean
  double burst_rate_per_s = 0;      // rate within a burst
  SimTime burst;                    // length of a burst: exact in on_off, mean in mmpp
  SimTime quiet;                    // length of the time between two bursts, likewise
  SimTime period;                   // of the daily curve; between two spikes
  double amplitude = 0;             // of the daily curve, as a share of the mean rate
  SimTime peak;                     // when the daily curve is highest
  std::int64_t spike_requests = 0;  // in one spike
  SimTime spike_length;             // over which they come, evenly at random
  std::vector<RatePoint> curve;
  // The process has gone on before 0, and the first arrival comes when it comes, in place of at 0: the mean rate then
  // holds from the beginning, whatever the CV. Curves and spikes keep to the clock; on_off is anywhere in its cycle.
  bool going_on = false;
};

class ArrivalProcess {
 public:
  virtual ~ArrivalProcess() = default;
  // The next arrivals, never decreasing; the first ever is 0 unless the process was going on.
  virtual void draw(RandomStream& stream, std::span<SimTime> out) = 0;
};

// The makers of the table's lines. Specs have passed the checks.
[[nodiscard]] std::unique_ptr<ArrivalProcess> make_poisson(const ArrivalSpec& spec);
[[nodiscard]] std::unique_ptr<ArrivalProcess> make_constant(const ArrivalSpec& spec);
[[nodiscard]] std::unique_ptr<ArrivalProcess> make_gamma(const ArrivalSpec& spec);
[[nodiscard]] std::unique_ptr<ArrivalProcess> make_weibull(const ArrivalSpec& spec);
[[nodiscard]] std::unique_ptr<ArrivalProcess> make_on_off(const ArrivalSpec& spec);
[[nodiscard]] std::unique_ptr<ArrivalProcess> make_mmpp(const ArrivalSpec& spec);
[[nodiscard]] std::unique_ptr<ArrivalProcess> make_diurnal(const ArrivalSpec& spec);
[[nodiscard]] std::unique_ptr<ArrivalProcess> make_piecewise(const ArrivalSpec& spec);
[[nodiscard]] std::unique_ptr<ArrivalProcess> make_spikes(const ArrivalSpec& spec);

// Arrivals a second over a long time; none of a curve, whose last rate holds for ever.
[[nodiscard]] std::optional<double> mean_rate_per_s(const ArrivalSpec& spec);
// The same with all rates times `factor`. Not of spikes, which are of whole requests, unless the factor is 1.
[[nodiscard]] ArrivalSpec with_rates_times(ArrivalSpec spec, double factor);

// Shape of the Weibull distribution whose coefficient of variation is `cv`.
[[nodiscard]] double weibull_shape(double cv);
// Rate outside the bursts that keeps the mean rate; negative if the bursts alone bring more.
[[nodiscard]] double quiet_rate(const ArrivalSpec& spec);

}  // namespace blockyard::workload
