#include "sim/workload/trace_delays.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/base/diagnostics.h"
#include "sim/workload/byte_source.h"
#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/trace_formats.h"

namespace blockyard::workload {

bool trace_waits_for_answers(const std::string& path, const std::string& format) {
  // Those whose sessions always say when a turn follows.
  constexpr std::array<std::string_view, 4> kAlways{"llmservingsim", "tracelab", "tracelab-replay", "weka"};
  if (path == "-") return false;
  try {
    LineReader lines(display_name(path), open_bytes(path));
    const std::string_view name = find_trace_format(format, lines).name;
    if (std::ranges::find(kAlways, name) != kAlways.end()) return true;
    const Opening opening(lines);
    if (name == "blockyard") return opening.has_columns({"delay_s"});
    if (name == "blis") return opening.has_columns({"session_id"});
    // The first turn of a session waits for nothing, but names the session.
    if (name == "blockyard-jsonl") return opening.has_key("session") || opening.has_key("delay_s");
    return name == "mooncake" && (opening.has_key("session_id") || opening.has_key("delay"));
  } catch (const InputError&) {
    return false;  // open_trace will say what is wrong
  }
}

}  // namespace blockyard::workload
