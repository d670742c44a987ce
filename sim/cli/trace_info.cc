// blockyard trace info: what a trace holds, to be compared with what is published of it, before it is simulated.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <span>

#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/trace_figures.h"
#include "sim/cli/trace_options.h"
#include "sim/kv/cache/reuse_distance.h"
#include "sim/workload/trace.h"

namespace blockyard::cli {
namespace {

// Mattson's curve at 1, 2, 5, 10, ... blocks up to the size beyond which nothing more is found.
std::vector<LruPoint> lru_curve(const kv::ReferenceString& references) {
  std::vector<LruPoint> points;
  if (references.blocks() == 0) return points;
  const kv::ReuseDistances distances(references);
  const std::int64_t largest = std::max<std::int64_t>(distances.largest(), 1);
  const auto add = [&](std::int64_t capacity) {
    points.push_back({capacity, distances.hit_blocks(capacity), distances.hit_tokens(capacity)});
  };
  for (std::int64_t power = 1; power < largest; power *= 10) {
    for (const std::int64_t step : {1, 2, 5}) {
      if (step * power < largest && 1000 * step * power >= largest) add(step * power);
    }
  }
  add(largest);
  return points;
}

TraceFigures look_at(const std::string& file, workload::TraceOptions how, Tokens max_model_len) {
  workload::ContentStore contents;
  how.contents = &contents;
  const auto source = workload::open_trace(file, how);
  const workload::ReadReport& read = source->report();
  std::optional<kv::ReferenceString> references;
  std::vector<std::int64_t> ids;
  const auto note_ids = [&](std::span<const workload::Request> requests) {
    for (const workload::Request& request : requests) {
      if (request.content == workload::ContentId::none) continue;
      if (!references) references.emplace(Tokens(read.hash_block), kv::Lookup::raw);
      ids.clear();
      workload::append_ids(contents.at(request.content), references->block_size(), ids);
      references->add(ids, request.prompt_tokens, request.arrival, 0);
    }
  };
  const workload::Survey seen = workload::survey(*source, read, contents, max_model_len, note_ids);
  return {file, read, seen, max_model_len, references ? lru_curve(*references) : std::vector<LruPoint>()};
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
