// The rows of a comparison, in one place.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/metrics/summary.h"

namespace blockyard::report {

enum class Figure { count, number, time, bytes, share };

// When a row is left out: if no variant has a sample of it, or if it is nothing in all of them.
enum class Show { always, if_sampled, if_not_zero };

inline constexpr const char* kTimeWentGroup = "where time went, mean";

struct ComparisonRow {
  std::string group;
  std::string name;
  Figure figure;
  const char* unit;  // "" where the figure brings its own
  bool ratio;        // its ratio to the first variant's says something
  Show show;
  std::function<std::optional<double>(const metrics::Summary&)> value;  // none = no sample
  // The sample that a time is a statistic of: its mean chooses the unit, so that all of a sample's rows have one.
  metrics::Distribution metrics::Summary::* sample = nullptr;
};

[[nodiscard]] const std::vector<ComparisonRow>& comparison_rows();

}  // namespace blockyard::report
