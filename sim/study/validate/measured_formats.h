// The readers behind read_measured(), one file each. They give requests as they stand in the file, arrivals on the
// file's own clock; putting them in order happens once for all. What is wrong goes to `errors`.
#pragma once

#include "sim/base/diagnostics.h"
#include "sim/study/validate/measured.h"

namespace blockyard::study {

void read_measured_csv(const std::string& path, MeasuredRun& run, Diagnostics& errors);
void read_vllm_bench(const std::string& path, MeasuredRun& run, Diagnostics& errors);
void read_llmservingsim(const std::string& path, MeasuredRun& run, Diagnostics& errors);

// Beyond this many a file is not what it was taken for, and one more says no more.
inline constexpr std::size_t kMostFaults = 20;

}  // namespace blockyard::study
