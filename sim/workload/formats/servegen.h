// A client of ServeGen as a trace (servegen_client.h has the files). The published data are rates and distributions, no
// requests: these are drawn, in each window a renewal process of its pattern from the window's start on, and lengths
// from the table of their time. The same file gives the same requests. It is named <chunk>-trace.csv and stands beside
// <chunk>-dataset.json.
#pragma once

#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

[[nodiscard]] bool is_servegen(const Opening& opening);
[[nodiscard]] std::unique_ptr<RowReader> open_servegen(LineReader lines, const ReaderOptions& options);

}  // namespace blockyard::workload
