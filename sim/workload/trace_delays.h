// Does a trace know clients that wait for answers?
#pragma once

#include <string>

namespace blockyard::workload {

// May rows of the trace state a Request::delay? By its format, and where that leaves it open by its columns or the keys
// of its first record; false for standard input, which can be read only once, and for a file that open_trace would
// refuse. `format` as in TraceOptions.
[[nodiscard]] bool trace_waits_for_answers(const std::string& path, const std::string& format);

}  // namespace blockyard::workload
