// blockyard trace convert: a trace into another format, a part of it, at another rate, or without its names.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <span>

#include "sim/cli/commands.h"
#include "sim/cli/numbers.h"
#include "sim/cli/options.h"
#include "sim/cli/out_folder.h"
#include "sim/cli/trace_figures.h"
#include "sim/cli/trace_options.h"
#include "sim/workload/byte_source.h"
#include "sim/workload/samples.h"
#include "sim/workload/survey.h"
#include "sim/workload/trace_edits.h"
#include "sim/workload/write_trace.h"

namespace blockyard::cli {
namespace {

using workload::Survey;

struct Job {
  std::string in;
  std::string out;
  workload::TraceOptions how;
  workload::TraceEdits edits;
  std::string to;
  double fraction = 1;
  std::uint64_t seed = 0;
};

// A reading of the trace through the edits, from its beginning.
struct Reading {
  Reading(const Job& job, workload::TraceSample* sample) {
    workload::TraceOptions how = job.how;
    how.contents = &contents;
    auto trace = workload::open_trace(job.in, how);
    read = &trace->report();
    edited = std::make_unique<workload::EditedTrace>(std::move(trace), *read, job.edits, sample, &contents);
  }

  workload::ContentStore contents;
  const workload::ReadReport* read = nullptr;
  std::unique_ptr<workload::EditedTrace> edited;
};

constexpr const char* kStandardOutput = "/dev/stdout";

// The trace goes there, and what is told of it elsewhere.
bool is_stdout(const std::string& out) { return out == kStandardOutput || out == "/dev/fd/1"; }

std::string format_of(const std::string& out, const Options& options) {
  if (const auto named = options.value_of("to")) return std::string(workload::find_output_format(*named).name);
  const std::string ending = std::filesystem::path(out).extension().string();
  if (ending == ".csv") return "blockyard";
  if (ending == ".jsonl") return "blockyard-jsonl";
  options.fail(fmt::format("--to: the ending of {} does not say which format; name it", out));
}

void expect_with(const Options& options, const std::string& name, const std::string& other) {
  if (options.has(name) && !options.has(other))
    options.fail(fmt::format("--{} means nothing without --{}", name, other));
}

Job job_of(const Options& options) {
  expect_with(options, "clip", "max-model-len");
  expect_with(options, "seed", "sample");
  expect_with(options, "scale-think-times", "scale-rate");
  Job job;
  job.in = options.words()[0];
  job.out = options.words()[1] == "-" ? kStandardOutput : options.words()[1];
  job.how = trace_options(options);
  job.how.format = options.value_of("from").value_or("auto");
  job.to = format_of(job.out, options);
  if (const auto window = options.value_of("window")) job.edits.window = workload::parse_window(*window);
  if (options.has("limit")) {
    const std::int64_t limit = whole_number(options, "limit", 1, INT64_MAX, 0);
    // Without a window no row beyond it need be read.
    (options.has("window") ? job.edits.first : job.how.limit) = limit;
  }
  job.edits.max_model_len = Tokens(whole_number(options, "max-model-len", 2, workload::kLongestLength, 0));
  job.edits.clip = options.has("clip");
  job.edits.rate_scale = positive_number(options, "scale-rate", 1);
  job.edits.scale_delays = options.has("scale-think-times");
  job.fraction = positive_number(options, "sample", 1);
  if (job.fraction > 1) options.fail("--sample: expected a share of the requests, above 0 and up to 1");
  if (job.fraction < 1 && !workload::can_be_read_again(job.in))
    options.fail("--sample reads the trace several times: give it a file");
  job.seed = static_cast<std::uint64_t>(whole_number(options, "seed", 0, INT64_MAX, 0));
  return job;
}

// The first of the two readings that a sample needs, and what the whole looks like.
Survey count_groups(const Job& job, workload::TraceSample& sample) {
  Reading all(job, nullptr);
  return workload::survey(*all.edited, *all.read, all.contents, Tokens(0),
                          [&](std::span<const workload::Request> requests) {
                            if (all.read->hash_block > 0) sample.set_block(Tokens(all.read->hash_block));
                            sample.count(requests, all.contents);
                          });
}

Survey survey_of(const Job& job, workload::TraceSample& sample) {
  Reading reading(job, &sample);
  return workload::survey(*reading.edited, *reading.read, reading.contents);
}

void print_sample(const Survey& all, const Survey& sample, std::ostream& out) {
  const auto row = [&](const char* name, const std::string& before, const std::string& after, const std::string& note) {
    out << fmt::format("    {:<18} {:>14} {:>14}{}\n", name, before, after, note);
  };
  const auto number = [](double value) { return fmt::format("{:.4g}", value); };
  const auto percent = [](double share) { return fmt::format("{:.2f} %", 100 * share); };
  const double kept = all.trace.requests == 0
                          ? 0
                          : static_cast<double>(sample.trace.requests) / static_cast<double>(all.trace.requests);
  out << fmt::format("  sample        {} of the requests in whole groups\n", percent(kept));
  row("", "whole", "sample", "");
  row("requests", grouped(all.trace.requests), grouped(sample.trace.requests), "");
  row("rate, requests/s", number(all.trace.rate_per_s), number(sample.trace.rate_per_s), "");
  row("CV of gaps", number(all.trace.gap_cv), number(sample.trace.gap_cv), "");
  const double thinned = 1 + kept * (all.trace.dispersion_60s - 1);
  const std::string whole = dispersion(all.trace, all.trace.dispersion_60s, 60);
  row("dispersion, 60 s", whole, dispersion(sample.trace, sample.trace.dispersion_60s, 60),
      whole == "-" ? "" : fmt::format("   {} would be left if each request were drawn by itself", number(thinned)));
  row("prompt mean", number(all.trace.prompt_tokens.mean), number(sample.trace.prompt_tokens.mean), "");
  row("prompt p99", number(all.trace.prompt_tokens.p99), number(sample.trace.prompt_tokens.p99), "");
  row("output mean", number(all.trace.output_tokens.mean), number(sample.trace.output_tokens.mean), "");
  const bool shares = all.prefixes.tells();
  row("ideal hits", shares ? percent(all.prefixes.hit_share()) : "-",
      shares ? percent(sample.prefixes.hit_share()) : "-",
      shares ? "   of the prompt tokens" : "   the trace does not say what its prompts share");
}

void print_result(const Job& job, const workload::ReadReport& read, const workload::EditReport& edits,
                  const workload::Written& written, bool anonymised, std::ostream& out) {
  out << fmt::format("{} ({}) -> {} ({})\n", job.in, read.format, job.out, job.to);
  out << fmt::format("  read          {} rows ({} dropped, {} malformed, {} out of order)\n", grouped(read.rows),
                     grouped(read.dropped()), grouped(read.bad_rows), grouped(read.out_of_order));
  print_dropped(read, out);
  print_malformed(read, out);
  if (read.untimed > 0) {
    out << fmt::format("    untimed     {}: at the time their session began, without a session at 0\n",
                       grouped(read.untimed));
  }
  if (job.edits.window.from || job.edits.window.to) {
    out << fmt::format("  window        {} requests outside\n", grouped(edits.outside_window));
  }
  if (job.edits.max_model_len > Tokens(0)) {
    out << fmt::format("  limit         {} requests over {} tokens, {}\n", grouped(edits.over_limit),
                       grouped(job.edits.max_model_len.count()), job.edits.clip ? "cut" : "left out");
  }
  if (job.fraction < 1) out << fmt::format("  not sampled   {}\n", grouped(edits.not_sampled));
  if (job.edits.rate_scale != 1) {
    out << fmt::format("  rate          times {}: arrivals divided, think times {}\n", job.edits.rate_scale,
                       job.edits.scale_delays ? "too" : "as they were");
  }
  out << fmt::format("  written       {} requests\n", grouped(written.requests));
  if (anonymised) out << "  names         replaced by key; times, lengths and categories are as they were\n";
  for (const auto& [field, count] : written.lost) {
    out << fmt::format("  lost          {} of {} requests: the format cannot say it\n", field, grouped(count));
  }
}

}  // namespace

ExitStatus trace_convert(const Arguments& arguments, Streams streams) {
  Options options("blockyard trace convert", "write a trace, or a part of it, in another format");
  options.words("IN OUT", 2, 2, "the trace, plain, gzip or zstd, and the file to write; - for standard input, output");
  options.value("from", "NAME", "read as this format (`blockyard list formats`) instead of recognising it");
  std::string formats;
  for (const workload::OutputFormat& format : workload::output_formats()) {
    formats += fmt::format("{}{}", formats.empty() ? "" : ", ", format.name);
  }
  options.value("to", "NAME", fmt::format("write as {} (by the ending: .csv, .jsonl our own)", formats));
  options.value("window", "FROM..TO",
                "only this time: 600..1200 s, 10:00..11:00, or date and time; a side may be empty");
  options.value("limit", "N", "only the first N requests, of the window if there is one");
  options.value("max-model-len", "TOKENS", "leave out requests that a context of so many tokens does not hold");
  options.flag("clip", "cut them to it instead");
  options.value("sample", "SHARE", "only this share, in whole sessions and shared prefixes; prints what survives");
  options.value("seed", "N", "of the sample (0)");
  options.value("scale-rate", "X", "divide arrival times by X");
  options.flag("scale-think-times", "and the delays of closed-loop clients");
  options.value("anonymise", "KEY", "replace ids, sessions, tenants and prefixes by keyed ones");
  add_trace_options(options);
  if (!options.parse(arguments, streams)) return ExitStatus::done;

  const Job job = job_of(options);
  refuse_inputs("OUT", {job.out}, {job.in});
  workload::TraceSample sample(job.fraction, job.seed);
  std::optional<Survey> whole;
  std::optional<Survey> sampled;
  if (job.fraction < 1) {
    whole = count_groups(job, sample);
    workload::TraceSample again = sample;
    sampled = survey_of(job, again);
  }
  std::optional<workload::KeyedIds> names;
  if (const auto key = options.value_of("anonymise")) {
    if (key->empty()) options.fail("--anonymise: the key is empty");
    names.emplace(*key);
  }
  Reading reading(job, job.fraction < 1 ? &sample : nullptr);
  workload::OutputOptions output;
  output.format = job.to;
  output.names = names ? &*names : nullptr;
  // A reader takes several samples for possible where the trace has room for them.
  const bool read_again = workload::can_be_read_again(job.in);
  const bool one_sample_each = read_again && !workload::trace_asks_samples(job.in, job.how.format);
  if (one_sample_each) output.fields &= ~workload::fields::kSamples;
  // And prompts to share something where it has room for that.
  namespace fields = workload::fields;
  if (read_again && !workload::trace_tells_contents(job.in, job.how.format))
    output.fields &= ~(fields::kSession | fields::kReuse | fields::kBeginning | fields::kIds);
  const workload::Written written =
      workload::write_trace(*reading.edited, reading.contents, job.out, output, *reading.read);
  std::ostream& told = is_stdout(job.out) ? streams.err : streams.out;
  if (written.requests == 0) streams.err << fmt::format("warning: {}: no request is left\n", job.out);
  if (reading.edited->report().outside_window > 0 && reading.edited->report().outside_window == reading.read->kept) {
    streams.err << fmt::format("warning: --window: the trace goes from 0 to {:.6g} s, by its clock {}\n",
                               to_seconds(reading.edited->seen_until()),
                               clock_range(reading.read->origin, reading.edited->seen_until()));
  }
  print_result(job, *reading.read, reading.edited->report(), written, names.has_value(), told);
  if (whole) print_sample(*whole, *sampled, told);
  return ExitStatus::done;
}

}  // namespace blockyard::cli
