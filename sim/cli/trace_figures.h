// What is known of a trace, as the screen, the table of several traces and the JSON of `trace info` say it.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/workload/survey.h"

namespace blockyard::cli {

// What a cache with lru would find of the trace's ids, by its size; exact.
struct LruPoint {
  std::int64_t capacity_blocks = 0;
  std::int64_t hit_blocks = 0;
  std::int64_t hit_tokens = 0;
};

struct TraceFigures {
  std::string file;
  workload::ReadReport read;
  workload::Survey seen;
  Tokens max_model_len;       // 0 = no limit was asked for
  std::vector<LruPoint> lru;  // none where the trace has no ids of blocks
};

// From the first request to the last on the trace's own clock, in the forms that --window takes: "18:15:46 to
// 19:14:20", with dates where the clock has them.
[[nodiscard]] std::string clock_range(SimTime origin, SimTime span);

// "-" where the trace is not two windows long: one alone has no dispersion.
[[nodiscard]] std::string dispersion(const workload::TraceStatistics& trace, double value, double window_s);

void print(const TraceFigures& trace, std::ostream& out);
// Parts of it: rows left out by reason, and malformed ones with their places. Nothing where there are none.
void print_dropped(const workload::ReadReport& read, std::ostream& out);
void print_malformed(const workload::ReadReport& read, std::ostream& out);
void print_side_by_side(const std::vector<TraceFigures>& traces, std::ostream& out);
[[nodiscard]] nlohmann::ordered_json to_json(const TraceFigures& trace);

}  // namespace blockyard::cli
