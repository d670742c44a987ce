// What is true of every run, whatever was run. Each check adds a line to what it returns where a law is broken.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/document.h"
#include "sim/serving/run.h"
#include "tests/serving/runs.h"

namespace blockyard::serving_tests {

// All of them: conservation of requests, tokens, time and memory; causality; Little's law. `scenario` is what was run.
[[nodiscard]] std::vector<std::string> broken_laws(const serving::RunResult& result,
                                                   const scenario::Document& scenario);

}  // namespace blockyard::serving_tests
