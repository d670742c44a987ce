// What makes a request a good one: limits on its times, for all requests or for a class of them, and which of them it
// is beyond. Finished requests alone have times; all others miss.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/quantities.h"
#include "sim/metrics/record.h"

namespace blockyard::metrics {

// Limits of a good request; those absent do not bind.
struct Slo {
  std::optional<SimTime> ttft;
  std::optional<SimTime> tpot;
  std::optional<SimTime> e2e;
  [[nodiscard]] bool any() const { return ttft || tpot || e2e; }
  [[nodiscard]] std::array<std::optional<SimTime>, 3> limits() const { return {ttft, tpot, e2e}; }
};
inline constexpr std::array<const char*, 3> kSloLimitNames{"ttft", "tpot", "e2e"};

// A class of requests with limits of its own.
struct SloClass {
  std::string name;
  Slo slo;
};
inline constexpr std::size_t kMostSloClasses = 100;

// Which limits kept requests from being good. Law: good requests + not finished + finished ones beyond any limit are
// all that the goodput is a share of.
struct SloMisses {
  struct Limit {
    std::int64_t requests = 0;
    std::int64_t alone = 0;  // those of them that meet every other limit
  };
  std::array<Limit, kSloLimitNames.size()> limits{};  // of finished requests
  std::int64_t not_finished = 0;                      // rejected, timed out, unfinished
};

// Counts a request; true if it is good.
bool count_misses(const Slo& slo, const RequestRecord& record, SloMisses& misses);

}  // namespace blockyard::metrics
