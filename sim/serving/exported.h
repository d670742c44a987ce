// The requests of a scenario as a trace of their own, and such a trace in place of the scenario's workload. Law: a run
// whose requests come from the export of its own scenario writes the same bytes; only a note of rows that were dropped
// or moved in reading is missing. Only columns that somebody uses are written. The workload is read twice for it, so
// that it cannot come from standard input.
#pragma once

#include <filesystem>
#include <string>

#include "sim/scenario/document.h"
#include "sim/serving/requests.h"
#include "sim/workload/write_trace.h"

namespace blockyard::serving {

// `format`: a name in workload::output_formats(), "" = by the ending of the path, .csv or .jsonl. Throws InputError for
// what is wrong with the workload, and where the format cannot say all of it; then no file is left.
[[nodiscard]] workload::Written export_requests(const scenario::Document& scenario,
                                                const std::filesystem::path& configs, const std::string& path,
                                                const std::string& format = "");

// The scenario says whether prompts share anything and what clients do.
[[nodiscard]] RequestsOverride exported_requests(const scenario::Document& scenario,
                                                 const std::filesystem::path& configs, const std::string& path);

}  // namespace blockyard::serving
