// blockyard conform: recorded runs of the real engine through our own schedulers, every key of every line compared.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <ostream>
#include <string_view>

#include "sim/base/diagnostics.h"
#include "sim/base/pending_file.h"
#include "sim/cli/commands.h"
#include "sim/cli/config_folder.h"
#include "sim/cli/options.h"
#include "sim/cli/out_folder.h"
#include "sim/scenario/load.h"
#include "sim/serving/names.h"
#include "sim/study/conform/cut.h"
#include "sim/study/conform/record_scenario.h"
#include "sim/study/conform/replay.h"
#include "sim/study/conform/shrink.h"

namespace blockyard::cli {
namespace {

// A folder stands for all the *.jsonl in it, in order of their names.
std::vector<std::string> files_of(const std::vector<std::string>& words, const Options& options) {
  std::vector<std::string> files;
  for (const std::string& word : words) {
    if (!std::filesystem::is_directory(word)) {
      files.push_back(word);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(word)) {
      if (entry.is_regular_file() && entry.path().extension() == ".jsonl") found.push_back(entry.path().string());
    }
    if (found.empty()) options.fail(fmt::format("no *.jsonl in {}", word));
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

ExitStatus compare_all(const std::vector<std::string>& files, study::StepPath path, bool quiet, Streams streams) {
  std::size_t identical = 0;
  bool unreadable = false;
  for (const std::string& file : files) {
    try {
      const study::ReplayResult result = study::replay(study::read_record(file), path);
      if (result.difference) {
        streams.out << study::to_text(*result.difference, file);
        continue;
      }
      ++identical;
      if (!quiet) streams.out << fmt::format("ok {} steps {}\n", file, result.steps);
    } catch (const InputError& error) {
      streams.err << error.what() << '\n';
      unreadable = true;
    }
  }
  streams.out << fmt::format("{} of {} runs identical\n", identical, files.size());
  if (unreadable) return ExitStatus::bad_input;
  return identical == files.size() ? ExitStatus::done : ExitStatus::run_failed;
}

void write(const std::string& path, std::string_view text) {
  PendingFile file(path);
  file.buffer().append(text.data(), text.data() + text.size());
  file.close();
  file.commit();
}

ExitStatus shrink_one(const std::string& file, const std::optional<std::string>& against, const std::string& out,
                      Streams streams) {
  refuse_inputs("--out", {out}, {file});
  const study::Record record = study::read_record(file);
  // Far more steps than a smaller workload can need, for one that would never end.
  const std::int64_t step_limit = 4 * static_cast<std::int64_t>(record.steps.size()) + 1000;
  const study::Reference reference =
      against ? study::reference_program(*against, out + ".header") : study::reference_general_path(step_limit);
  bool ran = false;
  const study::Reference watched = [&](const study::Record& header) {
    std::optional<study::Record> run = reference(header);
    ran = ran || run.has_value();
    return run;
  };
  std::string how;
  study::Record smaller;
  if (const auto shrunk = study::shrink(record, watched)) {
    smaller = shrunk->record;
    how = fmt::format("{} tries against {}", shrunk->tries, against ? *against : "the general path");
  } else {
    if (against && !ran) {
      throw InputError(
          {"--against", 0, 0},
          fmt::format("`{} FILE` gave no run of {}: it failed, or printed none that can be read", *against, file));
    }
    const study::ReplayResult result = study::replay(record, study::StepPath::fast);
    if (!result.difference) {
      streams.out << fmt::format("ok {} steps {}: nothing to shrink\n", file, result.steps);
      return ExitStatus::done;
    }
    smaller = study::cut_after_difference(record, *result.difference);
    how = "cut after the difference; fewer requests need --against, a program that runs the engine";
  }
  write(out, study::to_text(smaller));
  streams.out << fmt::format("{}: {} of {} requests, {} of {} steps ({})\n", out, smaller.requests.size(),
                             record.requests.size(), smaller.steps.size(), record.steps.size(), how);
  const study::ReplayResult result = study::replay(smaller, study::StepPath::fast);
  if (result.difference) streams.out << study::to_text(*result.difference, out);
  return ExitStatus::run_failed;
}

ExitStatus record_one(const std::string& file, std::vector<std::string> sets, const std::string& out, Streams streams) {
  const std::filesystem::path configs = config_folder();
  sets.insert(sets.begin(), "admission.never_fits=engine");
  const scenario::Document scenario = scenario::load(file, serving::scenario_schema(configs), sets);
  refuse_inputs("--out", {out}, inputs_of(file, scenario));
  const study::Record record = study::record_scenario(scenario, configs);
  write(out, study::to_text(record));
  streams.out << fmt::format("{}: {} requests, {} steps\n", out, record.requests.size(), record.steps.size());
  return ExitStatus::done;
}

}  // namespace

ExitStatus conform(const Arguments& arguments, Streams streams) {
  Options options("blockyard conform", "replay recorded runs of the real engine, step by step, and compare every line");
  options.words("FILE", 0, std::numeric_limits<std::size_t>::max(), "recorded runs, or folders of them (*.jsonl)");
  options.flag("quiet", "print differences and the last line only");
  options.flag("general-path", "walk the running list in every step instead of taking sums");
  options.value("record", "SCENARIO",
                "run a scenario and write the run in the same format (admission.never_fits is `engine`)");
  options.values("set", "KEY=VALUE", "with --record: set a key of the scenario");
  options.value("shrink", "FILE", "find a smaller workload that still differs and write it");
  options.value("against", "COMMAND",
                "with --shrink: `COMMAND FILE` runs the engine on a header and prints its record");
  options.value("out", "FILE",
                "with --shrink and --record: where to write; FILE.shrunk.jsonl, or SCENARIO.jsonl, unless given");
  if (!options.parse(arguments, streams)) return ExitStatus::done;

  const bool records = options.has("record");
  const bool shrinks = options.has("shrink");
  if (records && shrinks) options.fail("--record and --shrink: one of them at a time");
  if (options.has("set") && !records) options.fail("--set means nothing without --record");
  if (options.has("against") && !shrinks) options.fail("--against means nothing without --shrink");
  if (options.has("out") && !records && !shrinks) options.fail("--out means nothing without --record or --shrink");
  if (const auto file = options.value_of("record")) {
    if (!options.words().empty()) options.fail("--record takes one scenario, and no files beside it");
    return record_one(
        *file, options.values_of("set"),
        options.value_of("out").value_or(std::filesystem::path(*file).replace_extension(".jsonl").string()), streams);
  }
  if (const auto file = options.value_of("shrink")) {
    if (!options.words().empty()) options.fail("--shrink takes one file, and no others beside it");
    return shrink_one(*file, options.value_of("against"), options.value_of("out").value_or(*file + ".shrunk.jsonl"),
                      streams);
  }
  if (options.words().empty()) options.fail("expected recorded runs, or folders of them");
  const study::StepPath path = options.has("general-path") ? study::StepPath::general : study::StepPath::fast;
  return compare_all(files_of(options.words(), options), path, options.has("quiet"), streams);
}

}  // namespace blockyard::cli
