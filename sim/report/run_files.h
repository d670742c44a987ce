// The files of a run read back, for `explain`: requests.csv, events.csv and, where it is there, timeseries.csv, columns
// by their names. Memory: that of the files. Throws InputError with the place and the remedy for what is missing, or
// not as this program writes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/memory_states.h"
#include "sim/metrics/event_log.h"
#include "sim/metrics/time_buckets.h"

namespace blockyard::report {

// A row of requests.csv; what did not happen is none.
struct RequestRow {
  SimTime arrival;
  std::int64_t prompt_tokens = 0;
  std::optional<std::int64_t> output_tokens;
  std::string outcome;
  std::string reason;
  std::optional<SimTime> admission;  // this and the next two from the arrival on
  std::optional<SimTime> ttft;
  std::optional<SimTime> e2e;
  std::int64_t preemptions = 0;
  SimTime stall;
  std::int64_t recomputed_tokens = 0;
  metrics::TimeRow time;
  std::int64_t replica = 0;
};

// The pool at the end of a row of timeseries.csv.
struct PoolRow {
  SimTime at;
  MemoryPartition bytes;
};

struct RunFiles {
  std::vector<RequestRow> requests;  // by id
  std::vector<metrics::Event> events;
  std::vector<PoolRow> pool;  // by time; none of several replicas, whose rows are sums
};

[[nodiscard]] RunFiles read_run_files(const std::filesystem::path& dir);

}  // namespace blockyard::report
