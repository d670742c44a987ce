// The files of one run: summary.json, requests.csv (one row a request, in arrival order), timeseries.csv, and
// events.csv if events were kept. Columns are
// described in sim/report/README.md. All are written whole under other names and put in place at the end, summary.json
// last: where something fails, no part of a file is left, and what stood there before still does.
#pragma once

#include <filesystem>
#include <vector>

#include "sim/metrics/collector.h"
#include "sim/metrics/summary.h"
#include "sim/report/comparison.h"

namespace blockyard::report {

// Makes `dir` if it does not exist. Throws InputError where there is no such folder to be
// made, WriteError where a file cannot be written.
void write_reports(const std::filesystem::path& dir, const metrics::Summary& summary,
                   const metrics::Collector& collector);

// comparison.json, likewise.
void write_comparison(const std::filesystem::path& dir, const std::vector<Variant>& variants);

}  // namespace blockyard::report
