// blockyard compare: variants of a scenario, side by side.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <thread>

#include "sim/base/diagnostics.h"
#include "sim/cli/commands.h"
#include "sim/cli/config_folder.h"
#include "sim/cli/interrupt.h"
#include "sim/cli/options.h"
#include "sim/cli/out_folder.h"
#include "sim/cli/progress.h"
#include "sim/report/comparison.h"
#include "sim/report/files.h"
#include "sim/report/memory_csv.h"
#include "sim/report/summary_json.h"
#include "sim/scenario/load.h"
#include "sim/serving/names.h"
#include "sim/study/compare.h"

namespace blockyard::cli {
namespace {

std::size_t jobs_of(const Options& options) {
  const auto text = options.value_of("jobs");
  if (!text) return std::max(1U, std::thread::hardware_concurrency());
  std::size_t jobs = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), jobs);
  if (error != std::errc() || end != text->data() + text->size() || jobs == 0) {
    options.fail(fmt::format("--jobs: expected a number from 1 on, found \"{}\"", *text));
  }
  return jobs;
}

std::vector<study::Variant> variants_of(const Options& options) {
  std::vector<study::Axis> axes;
  for (const std::string& text : options.values_of("vary")) axes.push_back(study::parse_axis(text));
  if (axes.empty()) options.fail("--vary is missing: what shall be compared? e.g. --vary kv_cache.block_size=16,32");
  return study::variants(axes);
}

// The variants may read what an earlier comparison wrote, each of them files of its own.
void refuse_overwriting(const Options& options, const std::vector<study::Variant>& variants,
                        const std::filesystem::path& folder,
                        const std::map<std::string, std::filesystem::path>& places) {
  Paths written = report::comparison_paths(folder);
  for (const auto& [label, place] : places) {
    const Paths files = report::report_paths(place);
    written.insert(written.end(), files.begin(), files.end());
  }
  const std::filesystem::path file = options.words().front();
  const scenario::Schema schema = serving::scenario_schema(config_folder());
  Paths inputs{file};
  for (const study::Variant& variant : variants) {
    try {
      const Paths own =
          inputs_of(file, scenario::load(file, schema, study::assignments(options.values_of("set"), variant)));
      inputs.insert(inputs.end(), own.begin(), own.end());
    } catch (const InputError&) {
      continue;  // what is wrong with a variant is told of all of them together, before any runs
    }
  }
  refuse_inputs("--out", written, inputs);
}

ExitStatus status_of(const std::vector<report::Variant>& compared, const std::vector<study::Variant>& asked_for,
                     Streams streams) {
  ExitStatus status = ExitStatus::done;
  bool interrupted = false;
  std::string not_started;
  for (const study::Variant& variant : asked_for) {
    const auto same = [&](const report::Variant& done) { return done.label == variant.label; };
    if (std::any_of(compared.begin(), compared.end(), same)) continue;
    not_started += (not_started.empty() ? "" : "; ") + variant.label;
    interrupted = true;
  }
  for (const report::Variant& variant : compared) {
    interrupted = interrupted || variant.summary.interrupted;
    if (variant.summary.stuck.empty()) continue;
    streams.err << fmt::format("blockyard compare: {} stopped: {}\n", variant.label, variant.summary.stuck);
    status = ExitStatus::run_failed;
  }
  if (interrupted) {
    streams.err << "blockyard compare: interrupted: every figure is of what was done by then\n";
    if (!not_started.empty()) streams.err << "blockyard compare: not started: " << not_started << '\n';
    return ExitStatus::interrupted;
  }
  return status;
}

}  // namespace

ExitStatus compare(const Arguments& arguments, Streams streams) {
  Options options("blockyard compare", "simulate variants of a scenario on the same workload, side by side");
  options.words("SCENARIO", 1, 1, "a YAML file (`blockyard schema` describes it)");
  options.values("vary", "KEY=A,B,...",
                 "a key and its values; several --vary give every combination, KEY+KEY=A+X,B+Y changes keys together");
  options.values("set", "KEY=VALUE", "set a key for all variants; wins over the file");
  options.value("jobs", "N", "variants that run at the same time (default: one a processor)");
  options.value("out", "DIR", "write comparison.json and .csv there, and the files of `run` into one folder a variant");
  options.flag("json", "print comparison.json, and nothing else, to standard output");
  if (!options.parse(arguments, streams)) return ExitStatus::done;

  const std::vector<study::Variant> variants = variants_of(options);
  study::CompareControl control;
  control.jobs = jobs_of(options);
  std::optional<OutFolder> folder;
  std::map<std::string, std::filesystem::path> places;  // by label
  std::map<std::string, report::MemoryCsv> changes;     // by label
  if (const auto out = options.value_of("out")) {
    std::vector<std::string> labels;
    labels.reserve(variants.size());
    for (const study::Variant& variant : variants) labels.push_back(variant.label);
    const std::vector<std::string> names = folder_names(labels);
    for (std::size_t i = 0; i < names.size(); ++i) places[labels[i]] = std::filesystem::path(*out) / names[i];
    refuse_overwriting(options, variants, *out, places);
    folder.emplace(*out);
    control.time_series = true;
    control.memory_listener = [&](const study::Variant& variant) {
      report::MemoryCsv& file = changes.try_emplace(variant.label, places.at(variant.label)).first->second;
      return [&file](SimTime now, const MemoryChange& change, Bytes piece) { file.add(now, change, piece); };
    };
    control.finished = [&](const study::Variant& variant, const serving::RunResult& result) {
      const auto file = changes.find(variant.label);
      report::write_reports(places.at(variant.label), result.summary, result.collector,
                            file != changes.end() ? &file->second : nullptr);
    };
  }

  const Interrupt interrupt;
  const std::vector<report::Variant> compared = [&] {
    Progress progress(streams, fmt::format("{} variants", variants.size()));
    control.go_on = [&](const study::CompareProgress& all) {
      progress.update({all.simulated, all.finished, all.expected});
      return !interrupt.raised();
    };
    return study::compare(options.words().front(), options.values_of("set"), variants, config_folder(), control);
  }();

  if (folder) {
    for (const report::Variant& variant : compared) {
      if (!variant.does_not_fit.empty()) report::remove_reports(places.at(variant.label));
    }
    report::write_comparison(folder->path(), compared);
  }
  if (options.has("json")) {
    streams.out << report::json_text(report::comparison_json(compared));
  } else {
    streams.out << report::print_comparison(compared);
  }
  return status_of(compared, variants, streams);
}

}  // namespace blockyard::cli
