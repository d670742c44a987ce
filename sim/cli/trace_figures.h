// What is known of a trace, as the screen, the table of several traces and the JSON of `trace info` say it.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/workload/survey.h"

namespace blockyard::cli {

struct TraceFigures {
  std::string file;
  workload::ReadReport read;
  workload::Survey seen;
  Tokens max_model_len;  // 0 = no limit was asked for
};

void print(const TraceFigures& trace, std::ostream& out);
void print_side_by_side(const std::vector<TraceFigures>& traces, std::ostream& out);
[[nodiscard]] nlohmann::ordered_json to_json(const TraceFigures& trace);

}  // namespace blockyard::cli
