// The files of one run: summary.json, requests.csv (one row a request, in arrival order), timeseries.csv, and
// events.csv if events were kept, memory.csv if the scenario asks for it. Columns are described in
// sim/report/README.md. All are written whole under other names and put in place at the end, summary.json last: where
// something fails, no part of a file is left, and what stood there before still does. Law: the files with these names
// in a folder are of one run.
#pragma once

#include <filesystem>
#include <vector>

#include "sim/metrics/collector.h"
#include "sim/metrics/summary.h"
#include "sim/report/comparison.h"
#include "sim/report/memory_csv.h"

namespace blockyard::report {

// The files of a run in `dir`, and those of a comparison: what write_reports and write_comparison may write.
[[nodiscard]] std::vector<std::filesystem::path> report_paths(const std::filesystem::path& dir);
[[nodiscard]] std::vector<std::filesystem::path> comparison_paths(const std::filesystem::path& dir);

// Makes `dir` if it does not exist. `changes`: the run's memory.csv, whole; without it one of an earlier run goes.
// Throws InputError where there is no such folder to be made, WriteError where a file cannot be written.
void write_reports(const std::filesystem::path& dir, const metrics::Summary& summary,
                   const metrics::Collector& collector, MemoryCsv* changes = nullptr);

// What an earlier run has left in `dir`, if anything, goes; and so does the folder, if nothing else is in it.
void remove_reports(const std::filesystem::path& dir);

// comparison.json and comparison.csv (comparison_csv.h), likewise.
void write_comparison(const std::filesystem::path& dir, const std::vector<Variant>& variants);

}  // namespace blockyard::report
