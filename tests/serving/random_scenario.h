// Random scenarios, over all that a scenario may say: small engines short of everything (seats, budget, memory,
// patience), traces whose arrivals meet the ends of steps, and now and then the generator's workloads.
#pragma once

#include <memory>
#include <string>

#include "tests/serving/runs.h"

namespace blockyard::serving_tests {

struct RandomScenario {
  std::string yaml;
  std::shared_ptr<const TraceFile> trace;  // nullptr: its workload is generated
};

// Whether clients may wait for answers: sessions with delays, users, a limit of requests out at once.
enum class Loop { open, closed };

// Within a property of RapidCheck only.
[[nodiscard]] RandomScenario random_scenario(Loop loop = Loop::open);

}  // namespace blockyard::serving_tests
