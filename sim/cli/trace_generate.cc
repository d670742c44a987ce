// blockyard trace generate: what the generator of a scenario draws, as a trace.
#include <fmt/format.h>

#include <ostream>

#include "sim/cli/commands.h"
#include "sim/cli/config_folder.h"
#include "sim/cli/numbers.h"
#include "sim/cli/options.h"
#include "sim/cli/out_folder.h"
#include "sim/scenario/load.h"
#include "sim/serving/exported.h"
#include "sim/serving/names.h"
#include "sim/workload/trace.h"
#include "sim/workload/trace_statistics.h"

namespace blockyard::cli {

ExitStatus trace_generate(const Arguments& arguments, Streams streams) {
  Options options("blockyard trace generate", "write the requests that a scenario's generator draws as a trace");
  options.words("SPEC", 1, 1, "a YAML file with a scenario's section workload.generate; the rest may be missing");
  options.value("out,o", "FILE", "the trace to write");
  options.value("to", "NAME", "write this format instead of what the ending says (.csv, .jsonl our own)");
  options.values("set", "KEY=VALUE", "set a key of the file, e.g. workload.generate.requests=1000");
  if (!options.parse(arguments, streams)) return ExitStatus::done;
  if (!options.has("out")) options.fail("-o FILE: where shall the trace go?");

  const std::filesystem::path configs = config_folder();
  const scenario::Document spec =
      scenario::load(options.words().front(), serving::requests_schema(configs), options.values_of("set"));
  if (!spec.is_set("workload.generate")) {
    throw InputError(spec.place("workload"),
                     "workload.generate: missing: the distributions that requests are drawn from");
  }
  const std::string out = options.value_of("out").value_or("");
  refuse_inputs("--out", {out}, inputs_of(options.words().front(), spec));
  const workload::Written written = serving::export_requests(spec, configs, out, options.value_of("to").value_or(""));
  streams.out << fmt::format("{}: {} requests\n", out, grouped(written.requests));
  for (const auto& [field, count] : written.lost) {
    streams.out << fmt::format("  lost: {} of {} requests: the format cannot say it\n", field, grouped(count));
  }
  return ExitStatus::done;
}

}  // namespace blockyard::cli
