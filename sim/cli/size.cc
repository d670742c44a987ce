// blockyard size: will it fit? The memory arithmetic of a model on a GPU, line by line, each with formula and source.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <system_error>

#include "sim/cli/commands.h"
#include "sim/cli/size_options.h"
#include "sim/cli/size_report.h"

namespace blockyard::cli {
namespace {

using nlohmann::ordered_json;

model::EngineLog read_log(const std::string& file) {
  model::EngineLog log;
  if (file == "-") {
    log = model::read_engine_log(std::cin);
  } else {
    std::ifstream in(file, std::ios::binary);
    if (!in || in.peek() == std::ifstream::traits_type::eof()) {
      std::error_code ignored;
      const bool folder = std::filesystem::is_directory(file, ignored);
      throw InputError(Place{file, 0, 0}, folder         ? "a folder; expected a log"
                                          : in.is_open() ? "nothing to read"
                                                         : "cannot be read");
    }
    log = model::read_engine_log(in);
  }
  if (log.empty()) {
    throw InputError(
        Place{file, 0, 0},
        "no start-up line of an engine is in it; expected lines like \"GPU KV cache size: 476,000 tokens\", "
        "\"# GPU blocks: 2588\", \"Available KV cache memory: 58.11 GiB\" or \"Maximum concurrency for "
        "8,192 tokens per request: 58.11x\"");
  }
  return log;
}

// One for each GPU and each tensor-parallel size that can split the model; why the others cannot.
struct Cases {
  std::vector<model::Sizing> sizes;
  std::vector<Diagnostic> cannot;
};

Cases cases_of(const SizeQuestion& q) {
  Cases cases;
  std::vector<std::int64_t> able;
  for (const std::int64_t tp : q.tps) {
    const std::string place = q.tps.size() > 1 ? fmt::format("tp {}", tp) : "blockyard size";
    Diagnostics wrong;
    model::check(*q.model, q.options_of(q.gpus.front(), tp), {place, 0, 0}, wrong);
    if (wrong.empty()) able.push_back(tp);
    cases.cannot.insert(cases.cannot.end(), wrong.list().begin(), wrong.list().end());
  }
  for (const model::GpuSpec& gpu : q.gpus) {
    for (const std::int64_t tp : able) cases.sizes.push_back(model::size_of(*q.model, gpu, q.options_of(gpu, tp)));
  }
  if (cases.sizes.empty()) throw InputError(cases.cannot);
  return cases;
}

ExitStatus answer(const SizeQuestion& q, const Options& options, Streams streams) {
  const Cases all = cases_of(q);
  const std::vector<model::Sizing>& cases = all.sizes;
  std::vector<TraceFit> traces;
  if (const std::optional<std::string> file = options.value_of("trace")) {
    traces = measure_trace(*file, options.value_of("format").value_or("auto"), cases);
  }
  const auto trace_of = [&](std::size_t i) { return traces.empty() ? std::nullopt : std::optional(traces[i]); };
  const bool one = q.gpus.size() == 1 && q.tps.size() == 1;
  if (options.has("json")) {
    ordered_json sizes = ordered_json::array();
    for (std::size_t i = 0; i < cases.size(); ++i) sizes.push_back(size_json(cases[i], q.contexts, trace_of(i)));
    ordered_json cannot = ordered_json::array();
    for (const Diagnostic& d : all.cannot) cannot.push_back(to_string(d));
    const ordered_json whole =
        one ? sizes.front()
            : ordered_json{{"schema", "blockyard.sizes/1"}, {"sizes", sizes}, {"cannot_be_split", cannot}};
    streams.out << whole.dump(2) << '\n';
  } else if (one) {
    print_size(cases.front(), q.contexts, trace_of(0), streams.out);
  } else {
    print_table(cases, q.contexts, traces, streams.out);
    for (const Diagnostic& d : all.cannot) streams.out << to_string(d) << '\n';
  }
  if (one && !cases.front().fits) print_refusal(cases.front(), streams.err);
  const bool any = std::any_of(cases.begin(), cases.end(), [](const model::Sizing& sizing) { return sizing.fits; });
  return any ? ExitStatus::done : ExitStatus::run_failed;
}

}  // namespace

ExitStatus size(const Arguments& arguments, Streams streams) {
  Options options("blockyard size", "will it fit: the memory arithmetic of a model on a GPU, line by line");
  declare_size_options(options);
  options.epilogue(
      "Exit status 1: a sequence of max-model-len does not fit (of a table: in no case). Amounts carry units:\n"
      "GB = 10^9 B, GiB = 2^30 B.");
  if (!options.parse(arguments, streams)) return ExitStatus::done;
  const std::optional<std::string> file = options.value_of("from-log");
  if (!file) return answer(read_size_options(options, nullptr), options, streams);

  const model::EngineLog log = read_log(*file);
  const SizeQuestion q = read_size_options(options, &log);
  std::optional<model::Sizing> sizing;
  if (q.model) sizing = cases_of(q).sizes.front();
  if (options.has("json")) {
    streams.out << log_json(log, sizing).dump(2) << '\n';
  } else {
    print_log(log, sizing, streams.out);
  }
  return ExitStatus::done;
}

}  // namespace blockyard::cli
