// The trace formats in one table. A new format is one file in formats/ and one line in trace_formats.cc.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

[[nodiscard]] inline bool tells_nothing(const Opening& /*opening*/) { return false; }

struct TraceFormat {
  std::string_view name;
  std::string_view doc;     // one line: whose traces, and what they tell beyond lengths
  std::string_view wanted;  // the columns or keys by which it is recognised
  bool (*recognise)(const Opening& opening);
  // Does a trace that begins like this say what prompts share?
  bool (*tells_contents)(const Opening& opening);
  std::unique_ptr<RowReader> (*open)(LineReader lines, const ReaderOptions& options);
  // May its rows state a delay after an answer (Request::delay), or ask for several samples (Request::samples)?
  bool (*waits_for_answers)(const Opening& opening) = tells_nothing;
  bool (*asks_samples)(const Opening& opening) = tells_nothing;
};

[[nodiscard]] std::span<const TraceFormat> trace_formats();

// The answer to one of the questions above; false for what can be read only once and for a file that open_trace would
// refuse.
[[nodiscard]] bool ask_opening(const std::string& path, const std::string& format,
                               bool (*TraceFormat::*question)(const Opening&));

// By name, or for "auto" the one that recognises the beginning; InputError names what was found and what is known.
[[nodiscard]] const TraceFormat& find_trace_format(std::string_view name, LineReader& lines);

}  // namespace blockyard::workload
