// blockyard trace info: what a trace holds, to be compared with what is published of it, before it is simulated.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/trace_figures.h"
#include "sim/cli/trace_options.h"
#include "sim/workload/trace.h"

namespace blockyard::cli {
namespace {

TraceFigures look_at(const std::string& file, workload::TraceOptions how, Tokens max_model_len) {
  workload::ContentStore contents;
  how.contents = &contents;
  const auto source = workload::open_trace(file, how);
  workload::Survey seen = workload::survey(*source, source->report(), contents, max_model_len);
  return {file, source->report(), std::move(seen), max_model_len};
}

}  // namespace

ExitStatus trace_info(const Arguments& arguments, Streams streams) {
  Options options("blockyard trace info", "rows, times, lengths and repeated prefixes of traces");
  options.words("FILE", 1, 1000, "traces, plain, gzip or zstd, - for standard input; several are shown side by side");
  options.value("format", "NAME", "read as this format (`blockyard list formats`) instead of recognising it");
  options.value("max-model-len", "TOKENS", "count the requests that a context of so many tokens does not hold");
  options.flag("json", "print JSON, and nothing else, to standard output");
  add_trace_options(options);
  if (!options.parse(arguments, streams)) return ExitStatus::done;

  workload::TraceOptions how = trace_options(options);
  how.format = options.value_of("format").value_or("auto");
  const Tokens limit(whole_number(options, "max-model-len", 1, workload::kLongestLength, 0));
  std::vector<TraceFigures> traces;
  for (const std::string& file : options.words()) {
    traces.push_back(look_at(file, how, limit));
    if (traces.back().read.kept == 0) {
      streams.err << fmt::format("warning: {}: no request in {} rows\n", file, traces.back().read.rows);
    }
  }
  if (options.has("json")) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const TraceFigures& trace : traces) list.push_back(to_json(trace));
    streams.out << nlohmann::ordered_json{{"schema", "blockyard.trace_info/1"}, {"traces", list}}.dump(2) << '\n';
  } else if (traces.size() == 1) {
    print(traces.front(), streams.out);
  } else {
    print_side_by_side(traces, streams.out);
  }
  return ExitStatus::done;
}

}  // namespace blockyard::cli
