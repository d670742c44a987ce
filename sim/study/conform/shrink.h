// Makes a workload on which we differ from a reference smaller, as long as we still differ: fewer requests, then fewer
// tokens. A recorded run says nothing about another workload, so the reference must be able to run one:
//   - our own general path, where the difference is between it and the fast path;
//   - a program of the user's that runs the engine itself (see reference_program).
// Without one, cut.h still makes a recorded run smaller.
//
// Cost: greedy, one run of each side a try; O(n log n) tries for n requests where little can go.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "sim/study/conform/replay.h"

namespace blockyard::study {

// Runs a header's workload; none if it cannot.
using Reference = std::function<std::optional<Record>(const Record& header)>;

[[nodiscard]] Reference reference_general_path(std::int64_t step_limit);

// `command FILE` gets a file with a header line and prints the recorded run.
[[nodiscard]] Reference reference_program(std::string command, std::string scratch_file);

struct Shrunk {
  Record record;  // the reference's run of the smallest workload found
  std::int64_t tries = 0;
};

// None if we do not differ from the reference on the whole workload.
[[nodiscard]] std::optional<Shrunk> shrink(const Record& record, const Reference& reference);

}  // namespace blockyard::study
