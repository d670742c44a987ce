// blockyard trace info: what a trace holds, to be compared with what is published of it, before it is simulated.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "sim/cli/commands.h"
#include "sim/cli/numbers.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/workload/trace.h"
#include "sim/workload/trace_statistics.h"

namespace blockyard::cli {
namespace {

using nlohmann::ordered_json;
using workload::LengthStatistics;
using workload::ReadReport;
using workload::TraceStatistics;

ordered_json lengths_json(const LengthStatistics& lengths) {
  return {{"sum", lengths.sum.count()}, {"mean", lengths.mean}, {"min", lengths.min.count()}, {"p50", lengths.p50},
          {"p90", lengths.p90},         {"p99", lengths.p99},   {"max", lengths.max.count()}};
}

ordered_json to_json(const std::string& file, const ReadReport& read, const TraceStatistics& trace) {
  ordered_json dropped = ordered_json::object();
  for (std::size_t i = 0; i < workload::kDropReasons; ++i) {
    dropped[workload::kDropReasonNames[i]] = read.dropped_by_reason[i];
  }
  return {{"file", file},
          {"format", read.format},
          {"rows", read.rows},
          {"requests", read.kept},
          {"dropped", read.dropped()},
          {"dropped_by_reason", dropped},
          {"out_of_order", read.out_of_order},
          {"span_s", to_seconds(trace.span)},
          {"rate_requests_per_s", trace.rate_per_s},
          {"inter_arrival_cv", trace.gap_cv},
          {"largest_gap_s", to_seconds(trace.largest_gap)},
          {"dispersion_1s", trace.dispersion_1s},
          {"dispersion_60s", trace.dispersion_60s},
          {"peak_requests_in_1s", trace.peak_in_1s},
          {"prompt_tokens", lengths_json(trace.prompt_tokens)},
          {"output_tokens", lengths_json(trace.output_tokens)},
          {"max_total_tokens", trace.max_total.count()},
          {"prefix_ids", read.prefix_ids}};
}

std::string rounded(double number) { return grouped(std::llround(number)); }

std::string lengths_row(const char* name, const LengthStatistics& lengths) {
  return fmt::format("  {:<13} {:>10.1f} {:>8} {:>8} {:>8} {:>8} {:>8} {:>16}\n", name, lengths.mean,
                     grouped(lengths.min.count()), rounded(lengths.p50), rounded(lengths.p90), rounded(lengths.p99),
                     grouped(lengths.max.count()), grouped(lengths.sum.count()));
}

// One window alone has no dispersion.
std::string dispersion_row(const TraceStatistics& trace) {
  constexpr double kWindows = 2;
  const auto of = [&](double dispersion, double window_s) {
    return to_seconds(trace.span) < kWindows * window_s ? std::string("-") : fmt::format("{:.2f}", dispersion);
  };
  return fmt::format("  dispersion    {} in windows of 1 s, {} of 60 s (1 = Poisson; - = too short)\n",
                     of(trace.dispersion_1s, 1), of(trace.dispersion_60s, 60));
}

void print(const std::string& file, const ReadReport& read, const TraceStatistics& trace, std::ostream& out) {
  out << fmt::format("{}: format {}\n", file, read.format);
  out << fmt::format("  rows          {} ({} dropped, {} out of order)\n", grouped(read.rows), grouped(read.dropped()),
                     grouped(read.out_of_order));
  for (std::size_t i = 0; i < workload::kDropReasons; ++i) {
    if (read.dropped_by_reason[i] == 0) continue;
    out << fmt::format("    dropped     {} with {}\n", grouped(read.dropped_by_reason[i]),
                       workload::kDropReasonNames[i]);
  }
  out << fmt::format("  requests      {}\n", grouped(read.kept));
  if (read.kept == 0) return;
  out << fmt::format("  span          {:.6f} s ({})\n", to_seconds(trace.span), in_words(to_seconds(trace.span)));
  out << fmt::format("  rate          {:.4f} requests/s, at most {} in one second\n", trace.rate_per_s,
                     grouped(trace.peak_in_1s));
  out << fmt::format("  gaps          CV {:.4f} (1 = Poisson), largest {:.4f} s\n", trace.gap_cv,
                     to_seconds(trace.largest_gap));
  out << dispersion_row(trace);
  out << "  tokens              mean      min      p50      p90      p99      max              sum\n";
  out << lengths_row("prompt", trace.prompt_tokens) << lengths_row("output", trace.output_tokens);
  out << fmt::format("  longest       {} tokens (prompt + output of one request)\n", grouped(trace.max_total.count()));
  if (read.prefix_ids > 0) out << fmt::format("  prefix ids    {}\n", grouped(read.prefix_ids));
}

}  // namespace

ExitStatus trace_info(const Arguments& arguments, Streams streams) {
  Options options("blockyard trace info", "rows, span, rate and lengths of a trace");
  options.words("FILE", 1, 1000, "traces, plain or gzip, - for standard input");
  options.value("format", "NAME", "read as this format (`blockyard list formats`) instead of recognising it");
  options.flag("json", "print JSON, and nothing else, to standard output");
  if (!options.parse(arguments, streams)) return ExitStatus::done;

  workload::TraceOptions how;
  how.format = options.value_of("format").value_or("auto");
  ordered_json traces = ordered_json::array();
  bool first = true;
  for (const std::string& file : options.words()) {
    const auto source = workload::open_trace(file, how);
    const TraceStatistics statistics = workload::measure(*source);
    if (options.has("json")) {
      traces.push_back(to_json(file, source->report(), statistics));
    } else {
      if (!first) streams.out << '\n';
      print(file, source->report(), statistics, streams.out);
    }
    first = false;
  }
  if (options.has("json")) {
    streams.out << ordered_json{{"schema", "blockyard.trace_info/1"}, {"traces", traces}}.dump(2) << '\n';
  }
  return ExitStatus::done;
}

}  // namespace blockyard::cli
