// Variants of one scenario on the same workload and seed. All variants are validated before the first one runs, and all
// that is wrong with any of them is told at once; one that is right but does not fit (its model on its GPUs, its memory
// under its scheduler) is left out and said so, unless none fits. Law: the result does not depend on `jobs`. Memory:
// that of `jobs` runs at a time; of a finished variant only its summary is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/quantities.h"
#include "sim/report/comparison.h"
#include "sim/serving/run.h"
#include "sim/study/variants.h"

namespace blockyard::study {

// Sums over all variants; `expected` requests where the workload knows.
struct CompareProgress {
  SimTime simulated;
  std::int64_t finished = 0;
  std::optional<std::int64_t> expected;
};

struct CompareControl {
  std::size_t jobs = 1;
  bool time_series = false;
  // Asked now and then, never by two threads at once. False stops all; variants that have not begun are left out.
  std::function<bool(const CompareProgress&)> go_on = {};
  // Asked once for each variant that sets output.memory_events, never by two threads at once: who is told of its
  // changes.
  std::function<std::function<void(SimTime, const MemoryChange&, Bytes piece)>(const Variant&)> memory_listener = {};
  // Told of each finished variant, never by two threads at once, in any order.
  std::function<void(const Variant&, const serving::RunResult&)> finished = {};
};

// `sets` apply to every variant, before its own settings. Throws InputError.
[[nodiscard]] std::vector<report::Variant> compare(const std::filesystem::path& scenario,
                                                   std::span<const std::string> sets,
                                                   const std::vector<Variant>& variants,
                                                   const std::filesystem::path& configs, const CompareControl& control);

}  // namespace blockyard::study
