// The rows of requests.csv and timeseries.csv. Times are exact: integer nanoseconds as decimals of a second, trailing
// zeros dropped. A field is empty where the thing did not happen. Cost: about 0.4 us a row of requests.csv.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/metrics/collector.h"
#include "sim/metrics/record.h"

namespace blockyard::report {

inline constexpr const char* kRequestsFile = "requests.csv";
inline constexpr const char* kEventsFile = "events.csv";
inline constexpr const char* kTimeSeriesFile = "timeseries.csv";

// With a column for the replica, where there are several.
[[nodiscard]] std::string requests_header(bool replicas = false);

// tpot_s is a quotient: the shortest decimals of the double that the summary's distribution counts. output_tokens,
// tpot_s and e2e_s are given for finished requests only; the buckets of `time`, which add up to e2e_s or to the time
// until the request was given up, for all that stood in the line and have ended. `replica`: none without the column,
// "" of a request turned away at the door.
void append_request(fmt::memory_buffer& out, std::int64_t request, const metrics::RequestRecord& record,
                    const metrics::TimeRow& time, std::string_view slo_class = {},
                    std::optional<std::string_view> replica = {});
// The row of a collector's request.
void append_request(fmt::memory_buffer& out, const metrics::Collector& collector, std::size_t request);

// "t_s,event,request,other,cause", and ",replica" where there are several.
void append_event_header(fmt::memory_buffer& out, bool replicas = false);
void append_event(fmt::memory_buffer& out, const metrics::Event& event, bool replicas = false);

void append_time_series_header(fmt::memory_buffer& out);
void append_time_series_row(fmt::memory_buffer& out, const metrics::TimeSeriesRow& row, std::int64_t slot_bytes);

// 1'500'000'000 -> "1.5"
void append_seconds(fmt::memory_buffer& out, SimTime time);

}  // namespace blockyard::report
