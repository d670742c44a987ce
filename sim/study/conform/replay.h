// Replays a recorded run through our own schedulers, one step of simulated time a step, and compares every key of every
// line, the totals of the end included. The first difference ends the replay. The same code as in a real run schedules,
// allocates and looks for prefixes.
//
// A step: aborts due, then arrivals (the front end rejects what it must), then schedule() and complete(). While nobody
// is here the step number jumps to the next arrival. Keys that a record leaves out from its first line on (block ids,
// say) are not compared. Cost: O(batch + pool) a step, for the checksums.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sim/study/conform/record.h"

namespace blockyard::study {

// How the scheduler gets through its steps; the result must be the same.
enum class StepPath {
  fast,     // as `run` does: plain steps where they apply, sums elsewhere
  sums,     // schedule() and complete() for every step
  general,  // fast_forward off: a walk over the running list in every step
};

struct Difference {
  std::int64_t step = 0;
  int line = 0;  // in the record
  std::string key;
  std::string expected;
  std::string got;
  std::string state;  // several lines for people
};

struct ReplayResult {
  std::int64_t steps = 0;  // that are identical
  std::optional<Difference> difference;
};

[[nodiscard]] ReplayResult replay(const Record& record, StepPath path);

// Our own run of a record's header: its steps and end are what we decide. Stops before step `step_limit`, as stalled.
[[nodiscard]] Record run_header(const Record& header, StepPath path, std::int64_t step_limit);

// "DIFF FILE step S: key: expected ..., got ..." and the state around it.
[[nodiscard]] std::string to_text(const Difference& difference, const std::string& file);

}  // namespace blockyard::study
