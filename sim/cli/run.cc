// blockyard run: one scenario.
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <ostream>

#include "sim/cli/commands.h"
#include "sim/cli/config_folder.h"
#include "sim/cli/interrupt.h"
#include "sim/cli/options.h"
#include "sim/cli/out_folder.h"
#include "sim/cli/progress.h"
#include "sim/report/files.h"
#include "sim/report/memory_csv.h"
#include "sim/report/summary_json.h"
#include "sim/report/summary_text.h"
#include "sim/scenario/load.h"
#include "sim/serving/exported.h"
#include "sim/serving/names.h"
#include "sim/serving/run.h"

namespace blockyard::cli {
namespace {

ExitStatus status_of(const metrics::Summary& summary, Streams streams) {
  if (!summary.stuck.empty()) {
    streams.err << "blockyard run: stopped: " << summary.stuck << '\n';
    return ExitStatus::run_failed;
  }
  if (summary.interrupted) {
    streams.err << "blockyard run: interrupted: every figure is of what was done by then\n";
    return ExitStatus::interrupted;
  }
  return ExitStatus::done;
}

}  // namespace

ExitStatus run(const Arguments& arguments, Streams streams) {
  Options options("blockyard run", "simulate a scenario and say what its users felt and its memory did");
  options.words("SCENARIO", 1, 1, "a YAML file (`blockyard schema` describes it)");
  options.values("set", "KEY=VALUE", "set a key of the scenario, e.g. kv_cache.block_size=32; wins over the file");
  options.value("out", "DIR", "write summary.json, requests.csv, timeseries.csv and events.csv there");
  options.value("export-trace", "FILE", "write the requests there, .csv or .jsonl, to be run again with --trace");
  options.value("trace", "FILE", "take the requests from there, as --export-trace wrote them, not from the workload");
  options.flag("json", "print summary.json, and nothing else, to standard output");
  if (!options.parse(arguments, streams)) return ExitStatus::done;

  const std::filesystem::path configs = config_folder();
  const scenario::Document scenario =
      scenario::load(options.words().front(), serving::scenario_schema(configs), options.values_of("set"));
  const auto exported = options.value_of("export-trace");
  const auto replayed = options.value_of("trace");
  if (exported && replayed) options.fail("--export-trace and --trace: the requests are in a trace already");
  Paths inputs = inputs_of(options.words().front(), scenario);
  if (replayed) inputs.emplace_back(*replayed);
  if (exported) refuse_inputs("--export-trace", {*exported}, inputs);
  if (const auto out = options.value_of("out")) refuse_inputs("--out", report::report_paths(*out), inputs);
  if (exported) static_cast<void>(serving::export_requests(scenario, configs, *exported));
  std::optional<serving::RequestsOverride> requests;
  if (replayed) requests = serving::exported_requests(scenario, configs, *replayed);
  std::optional<OutFolder> folder;
  if (const auto out = options.value_of("out")) folder.emplace(*out);

  std::optional<report::MemoryCsv> changes;
  if (folder && scenario.boolean("output.memory_events")) changes.emplace(folder->path());

  const Interrupt interrupt;
  const serving::RunResult result = [&] {
    Progress progress(streams);
    const auto go_on = [&](const serving::RunProgress& run, std::optional<std::int64_t> expected) {
      progress.update({run.now, run.finished, expected});
      return !interrupt.raised();
    };
    serving::RunControl control{.go_on = go_on, .time_series = folder.has_value()};
    if (requests) control.requests = &*requests;
    if (changes) {
      control.memory_changed = [&](SimTime now, const MemoryChange& change, Bytes piece) {
        changes->add(now, change, piece);
      };
    }
    return serving::run(scenario, configs, control);
  }();

  if (folder) report::write_reports(folder->path(), result.summary, result.collector, changes ? &*changes : nullptr);
  if (options.has("json")) {
    streams.out << report::json_text(report::summary_json(result.summary));
  } else {
    streams.out << report::print_summary(result.summary, result.read);
  }
  return status_of(result.summary, streams);
}

}  // namespace blockyard::cli
