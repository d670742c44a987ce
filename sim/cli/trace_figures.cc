#include "sim/cli/trace_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "sim/cli/numbers.h"
#include "sim/cli/progress.h"

namespace blockyard::cli {
namespace {

using nlohmann::ordered_json;
using workload::JointLengths;
using workload::LengthStatistics;
using workload::PrefixStatistics;
using workload::ReadReport;
using workload::TraceStatistics;

double share_of(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}
std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }
std::string rounded(double number) { return grouped(std::llround(number)); }
// To a tenth, which is left out where it is 0.
std::string to_a_tenth(double number) {
  const std::int64_t tenths = std::llround(10 * number);
  return grouped(tenths / 10) + (tenths % 10 == 0 ? "" : fmt::format(".{}", tenths % 10));
}

double mean_of(Tokens sum, std::int64_t count) {
  return count == 0 ? 0 : static_cast<double>(sum.count()) / static_cast<double>(count);
}

// Slow rates keep their digits.
std::string rate(double per_s) {
  constexpr double kSlow = 0.1;
  return per_s < kSlow ? fmt::format("{:.4g}", per_s) : fmt::format("{:.6f}", per_s);
}

std::string class_name(std::size_t index) {
  if (index + 1 == JointLengths::kClasses) return grouped(JointLengths::kLeast[index]) + " or more";
  return fmt::format("{} to {}", grouped(JointLengths::kLeast[index]), grouped(JointLengths::kLeast[index + 1] - 1));
}

std::string clients(const ReadReport& read) {
  if (read.waiting == 0) return read.untimed > 0 ? "no times: lengths alone" : "open loop: each at its own time";
  std::string text = fmt::format("closed loop: {} of {} requests wait for the answer to the one before",
                                 grouped(read.waiting), grouped(read.kept));
  if (read.untimed > 0) text += fmt::format(", {} have no time of their own", grouped(read.untimed));
  return text;
}

std::string lengths_row(const char* name, const LengthStatistics& lengths) {
  return fmt::format("  {:<13} {:>10.3f} {:>8} {:>9} {:>9} {:>9} {:>8} {:>15}\n", name, lengths.mean,
                     grouped(lengths.min.count()), to_a_tenth(lengths.p50), to_a_tenth(lengths.p90),
                     to_a_tenth(lengths.p99), grouped(lengths.max.count()), grouped(lengths.sum.count()));
}

}  // namespace

void print_dropped(const ReadReport& read, std::ostream& out) {
  for (std::size_t i = 0; i < workload::kDropReasons; ++i) {
    if (read.dropped_by_reason[i] == 0) continue;
    out << fmt::format("    dropped     {} with {}\n", grouped(read.dropped_by_reason[i]),
                       workload::kDropReasonNames[i]);
  }
}

void print_malformed(const ReadReport& read, std::ostream& out) {
  if (read.bad_rows == 0) return;
  out << fmt::format("    malformed   {}, left out:\n", grouped(read.bad_rows));
  for (const Diagnostic& bad : read.first_bad_rows) out << fmt::format("      {}\n", to_string(bad));
  if (const std::int64_t more = read.bad_rows - std::ssize(read.first_bad_rows); more > 0) {
    out << fmt::format("      and {} more\n", grouped(more));
  }
}

namespace {

void print_rows(const ReadReport& read, std::ostream& out) {
  out << fmt::format("  rows          {} ({} dropped, {} out of order)\n", grouped(read.rows), grouped(read.dropped()),
                     grouped(read.out_of_order));
  print_dropped(read, out);
  print_malformed(read, out);
  if (read.dropped() > 0 && read.row_span > SimTime(0)) {
    out << fmt::format("    all rows    {:.4f} rows/s over {:.6g} s, dropped ones too\n",
                       static_cast<double>(read.timed_rows - 1) / to_seconds(read.row_span), to_seconds(read.row_span));
  }
  std::string categories;
  for (std::size_t i = 1; i < read.categories.size(); ++i) {
    categories += fmt::format("{}{} {}", i == 1 ? "" : ", ", read.categories[i], grouped(read.category_rows[i]));
  }
  if (!categories.empty()) out << fmt::format("  categories    {} (all rows)\n", categories);
  out << fmt::format("  requests      {}\n", grouped(read.kept));
}

void print_lengths(const TraceFigures& figures, std::ostream& out) {
  const TraceStatistics& trace = figures.seen.trace;
  out << "  tokens              mean      min       p50       p90       p99      max             sum\n";
  out << lengths_row("prompt", trace.prompt_tokens) << lengths_row("output", trace.output_tokens);
  out << fmt::format("  longest       {} tokens (prompt + output of one request)\n", grouped(trace.max_total.count()));
  out << "  by prompt           requests   mean prompt   mean output\n";
  for (std::size_t i = 0; i < JointLengths::kClasses; ++i) {
    const workload::LengthClass& some = figures.seen.lengths.classes()[i];
    if (some.requests == 0) continue;
    out << fmt::format("    {:<16} {:>9} {:>13} {:>13}\n", class_name(i), grouped(some.requests),
                       rounded(mean_of(some.prompt_tokens, some.requests)),
                       rounded(mean_of(some.output_tokens, some.requests)));
  }
  out << fmt::format("  correlation   {:.3f} of the logarithms of prompt and output\n",
                     figures.seen.lengths.correlation());
  if (figures.max_model_len == Tokens(0)) return;
  const workload::OverLimit& over = figures.seen.lengths.over_limit();
  out << fmt::format("  over {:<8} {} prompts alone, {} with their output, {} with their max_tokens\n",
                     grouped(figures.max_model_len.count()), grouped(over.prompt), grouped(over.total),
                     grouped(over.declared));
}

void print_prefixes(const TraceFigures& figures, std::ostream& out) {
  const PrefixStatistics& prefixes = figures.seen.prefixes;
  if (prefixes.sessions > 0) {
    out << fmt::format("  sessions      {}, with {} requests: {:.1f} each, at most {}\n", grouped(prefixes.sessions),
                       grouped(prefixes.requests_in_sessions),
                       static_cast<double>(prefixes.requests_in_sessions) / static_cast<double>(prefixes.sessions),
                       grouped(prefixes.longest_session));
  }
  if (prefixes.shared_prefixes > 0)
    out << fmt::format("  beginnings    {} shared\n", grouped(prefixes.shared_prefixes));
  if (prefixes.ids > 0) {
    out << fmt::format("  prefix ids    {}, {} of them distinct, {} first ones; at most {} a prompt; {} tokens each\n",
                       grouped(prefixes.ids), grouped(prefixes.distinct_ids), grouped(prefixes.roots),
                       grouped(prefixes.longest_ids), figures.read.hash_block);
  }
  if (figures.read.stated_reuse > Tokens(0)) {
    out << fmt::format("  stated reuse  {} of the prompt tokens, as the trace says it\n",
                       percent(share_of(figures.read.stated_reuse.count(), prefixes.prompt_tokens.count())));
  }
  if (!prefixes.tells()) {
    out << "  ideal hits    the trace does not say what its prompts share\n";
    return;
  }
  // An engine finds full blocks: what that comes to is known of ids of blocks.
  out << fmt::format(
      "  ideal hits    {} of the prompt tokens, in {} requests{}\n", percent(prefixes.hit_share()),
      grouped(prefixes.repeating),
      prefixes.ids > 0 ? fmt::format("; {} by an engine's rules", percent(prefixes.engine_hit_share())) : "");
  if (prefixes.ids > 0) {
    out << fmt::format("    in blocks   {} of {} ({}); {} by an engine's rules: full blocks, never the last token\n",
                       grouped(prefixes.hit_ids), grouped(prefixes.ids),
                       percent(share_of(prefixes.hit_ids, prefixes.ids)), grouped(prefixes.engine_hit_ids));
  }
}

void print_lru(const TraceFigures& figures, std::ostream& out) {
  if (figures.lru.empty()) return;
  out << "  lru cache of          blocks          tokens  hit blocks  share of the prompt tokens\n";
  for (const LruPoint& point : figures.lru) {
    out << fmt::format("    {:>24}  {:>14}  {:>10}  {:>10}\n", grouped(point.capacity_blocks),
                       grouped(point.capacity_blocks * figures.read.hash_block), grouped(point.hit_blocks),
                       percent(share_of(point.hit_tokens, figures.seen.prefixes.prompt_tokens.count())));
  }
}

// The figures of the table, in the order of the screen.
std::vector<std::pair<std::string, std::string>> table_column(const TraceFigures& figures) {
  const TraceStatistics& trace = figures.seen.trace;
  const PrefixStatistics& prefixes = figures.seen.prefixes;
  const bool timed = trace.span > SimTime(0) && figures.read.untimed == 0;
  const bool shares = prefixes.ids + prefixes.sessions + prefixes.shared_prefixes > 0;
  std::vector<std::pair<std::string, std::string>> rows{
      {"format", figures.read.format},
      {"rows", grouped(figures.read.rows)},
      {"dropped", grouped(figures.read.dropped())},
      {"out of order", grouped(figures.read.out_of_order)},
      {"requests", grouped(figures.read.kept)},
      {"wait for an answer", grouped(figures.read.waiting)},
      {"span, s", fmt::format("{:.3f}", to_seconds(trace.span))},
      {"rate, requests/s", timed ? rate(trace.rate_per_s) : "-"},
      {"CV of gaps", timed ? fmt::format("{:.4f}", trace.gap_cv) : "-"},
      {"dispersion, 1 s", dispersion(trace, trace.dispersion_1s, 1)},
      {"dispersion, 60 s", dispersion(trace, trace.dispersion_60s, 60)},
      {"prompt mean", fmt::format("{:.3f}", trace.prompt_tokens.mean)},
      {"prompt p50", to_a_tenth(trace.prompt_tokens.p50)},
      {"prompt p99", to_a_tenth(trace.prompt_tokens.p99)},
      {"prompt max", grouped(trace.prompt_tokens.max.count())},
      {"output mean", fmt::format("{:.3f}", trace.output_tokens.mean)},
      {"output p50", to_a_tenth(trace.output_tokens.p50)},
      {"output p99", to_a_tenth(trace.output_tokens.p99)},
      {"output max", grouped(trace.output_tokens.max.count())},
      {"longest", grouped(trace.max_total.count())},
      {"correlation", fmt::format("{:.3f}", figures.seen.lengths.correlation())},
      {"sessions", grouped(prefixes.sessions)},
      {"distinct prefix ids", grouped(prefixes.distinct_ids)},
      {"ideal hits", shares ? percent(prefixes.hit_share()) : "-"}};
  if (figures.max_model_len > Tokens(0)) {
    rows.emplace_back(fmt::format("over {} tokens", grouped(figures.max_model_len.count())),
                      grouped(figures.seen.lengths.over_limit().total));
  }
  return rows;
}

ordered_json bad_rows_json(const ReadReport& read) {
  ordered_json list = ordered_json::array();
  for (const Diagnostic& bad : read.first_bad_rows) list.push_back(to_string(bad));
  return list;
}

ordered_json lengths_json(const LengthStatistics& lengths) {
  return {{"sum", lengths.sum.count()}, {"mean", lengths.mean}, {"min", lengths.min.count()}, {"p50", lengths.p50},
          {"p90", lengths.p90},         {"p99", lengths.p99},   {"max", lengths.max.count()}};
}

ordered_json classes_json(const JointLengths& lengths) {
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < JointLengths::kClasses; ++i) {
    const workload::LengthClass& some = lengths.classes()[i];
    list.push_back({{"prompt_tokens_from", JointLengths::kLeast[i]},
                    {"requests", some.requests},
                    {"prompt_tokens", some.prompt_tokens.count()},
                    {"output_tokens", some.output_tokens.count()}});
  }
  return list;
}

ordered_json lru_json(const TraceFigures& figures) {
  ordered_json list = ordered_json::array();
  for (const LruPoint& point : figures.lru) {
    list.push_back({{"capacity_blocks", point.capacity_blocks},
                    {"hit_blocks", point.hit_blocks},
                    {"hit_tokens", point.hit_tokens},
                    {"hit_ratio", share_of(point.hit_tokens, figures.seen.prefixes.prompt_tokens.count())}});
  }
  return list;
}

ordered_json prefixes_json(const ReadReport& read, const PrefixStatistics& prefixes) {
  const auto with_ids = [&](auto figure) { return prefixes.ids > 0 ? ordered_json(figure) : ordered_json(nullptr); };
  return {{"block_tokens", read.hash_block},
          {"ids", prefixes.ids},
          {"distinct_ids", prefixes.distinct_ids},
          {"first_ids", prefixes.roots},
          {"most_ids_of_a_prompt", prefixes.longest_ids},
          {"shared_beginnings", prefixes.shared_prefixes},
          {"stated_reuse_tokens", read.stated_reuse.count()},
          {"stated_reuse_share", share_of(read.stated_reuse.count(), prefixes.prompt_tokens.count())},
          {"ideal_hit_blocks", prefixes.hit_ids},
          {"ideal_hit_tokens", prefixes.hit_tokens.count()},
          {"ideal_hit_ratio", prefixes.hit_share()},
          {"ideal_engine_hit_blocks", with_ids(prefixes.engine_hit_ids)},
          {"ideal_engine_hit_tokens", with_ids(prefixes.engine_hit_tokens.count())},
          {"ideal_engine_hit_ratio", with_ids(prefixes.engine_hit_share())},
          {"repeating_requests", prefixes.repeating}};
}

// To the second, the fraction cut off. A clock beyond the year 1971 is one of dates.
std::string moment(std::int64_t seconds, bool dated) {
  constexpr std::int64_t kDay = 86'400;
  const std::int64_t of_day = dated ? seconds % kDay : seconds;
  std::string time = fmt::format("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60);
  if (!dated) return time;
  const std::chrono::year_month_day day{std::chrono::sys_days(std::chrono::days(seconds / kDay))};
  return fmt::format("{:04}-{:02}-{:02}T{}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()), time);
}

}  // namespace

std::string dispersion(const workload::TraceStatistics& trace, double value, double window_s) {
  constexpr double kWindows = 2;
  return to_seconds(trace.span) < kWindows * window_s ? std::string("-") : fmt::format("{:.5g}", value);
}

std::string clock_range(SimTime origin, SimTime span) {
  constexpr std::int64_t kYear = 365LL * 86'400;
  const std::int64_t first = origin.count() / kNanosecondsPerSecond;
  const std::int64_t last = (origin + span).count() / kNanosecondsPerSecond;
  const bool dated = first >= kYear;
  return fmt::format("{} to {}", moment(first, dated), moment(last, dated));
}

namespace {

void print_times(const TraceStatistics& trace, std::ostream& out) {
  out << fmt::format("  rate          {} requests/s, at most {} in one second\n", rate(trace.rate_per_s),
                     grouped(trace.peak_in_1s));
  out << fmt::format("  gaps          CV {:.4f} (1 = Poisson), largest {:.4f} s; {} distinct times\n", trace.gap_cv,
                     to_seconds(trace.largest_gap), grouped(trace.distinct_arrivals));
  out << fmt::format("  dispersion    {} in windows of 1 s, {} of 60 s (1 = Poisson; - = too short)\n",
                     dispersion(trace, trace.dispersion_1s, 1), dispersion(trace, trace.dispersion_60s, 60));
}

}  // namespace

void print(const TraceFigures& figures, std::ostream& out) {
  const TraceStatistics& trace = figures.seen.trace;
  out << fmt::format("{}: format {}\n", figures.file, figures.read.format);
  print_rows(figures.read, out);
  if (figures.read.kept == 0) return;
  out << fmt::format("  clients       {}\n", clients(figures.read));
  out << fmt::format("  span          {:.6f} s ({})\n", to_seconds(trace.span), in_words(to_seconds(trace.span)));
  if (trace.span > SimTime(0))
    out << fmt::format("  clock         {} (for `trace convert --window`)\n",
                       clock_range(figures.read.origin, trace.span));
  if (figures.read.untimed > 0) {
    out << fmt::format(
        "  rate          - ({} of {} requests have no time of their own: they come when an answer does)\n",
        grouped(figures.read.untimed), grouped(figures.read.kept));
  } else {
    print_times(trace, out);
  }
  print_lengths(figures, out);
  print_prefixes(figures, out);
  print_lru(figures, out);
}

void print_side_by_side(const std::vector<TraceFigures>& traces, std::ostream& out) {
  std::vector<std::vector<std::pair<std::string, std::string>>> columns;
  std::size_t label_width = 0;
  for (const TraceFigures& trace : traces) {
    columns.push_back(table_column(trace));
    for (const auto& [label, value] : columns.back()) label_width = std::max(label_width, label.size());
  }
  std::vector<std::string> heads;
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    heads.push_back(std::filesystem::path(traces[i].file).filename().string());
    widths.push_back(heads.back().size());
    for (const auto& [label, value] : columns[i]) widths[i] = std::max(widths[i], value.size());
  }
  const auto line = [&](const std::string& label, const auto& value_of) {
    out << fmt::format("{:<{}}", label, label_width);
    for (std::size_t i = 0; i < traces.size(); ++i) out << fmt::format("  {:>{}}", value_of(i), widths[i]);
    out << '\n';
  };
  line("", [&](std::size_t i) { return heads[i]; });
  for (std::size_t row = 0; row < columns.front().size(); ++row) {
    line(columns.front()[row].first, [&](std::size_t i) { return columns[i][row].second; });
  }
}

ordered_json to_json(const TraceFigures& figures) {
  const ReadReport& read = figures.read;
  const TraceStatistics& trace = figures.seen.trace;
  ordered_json dropped = ordered_json::object();
  for (std::size_t i = 0; i < workload::kDropReasons; ++i) {
    dropped[workload::kDropReasonNames[i]] = read.dropped_by_reason[i];
  }
  ordered_json categories = ordered_json::object();
  for (std::size_t i = 1; i < read.categories.size(); ++i) categories[read.categories[i]] = read.category_rows[i];
  ordered_json json{{"file", figures.file},
                    {"format", read.format},
                    {"rows", read.rows},
                    {"requests", read.kept},
                    {"dropped", read.dropped()},
                    {"dropped_by_reason", dropped},
                    {"malformed", read.bad_rows},
                    {"out_of_order", read.out_of_order},
                    {"malformed_rows", bad_rows_json(read)},
                    {"untimed", read.untimed},
                    {"waiting_for_an_answer", read.waiting},
                    {"rows_by_category", categories},
                    {"row_span_s", to_seconds(read.row_span)},
                    {"span_s", to_seconds(trace.span)},
                    {"clock", clock_range(read.origin, trace.span)},
                    {"rate_requests_per_s", trace.rate_per_s},
                    {"inter_arrival_cv", trace.gap_cv},
                    {"largest_gap_s", to_seconds(trace.largest_gap)},
                    {"distinct_arrivals", trace.distinct_arrivals},
                    {"dispersion_1s", trace.dispersion_1s},
                    {"dispersion_60s", trace.dispersion_60s},
                    {"peak_requests_in_1s", trace.peak_in_1s},
                    {"prompt_tokens", lengths_json(trace.prompt_tokens)},
                    {"output_tokens", lengths_json(trace.output_tokens)},
                    {"max_total_tokens", trace.max_total.count()},
                    {"by_prompt_length", classes_json(figures.seen.lengths)},
                    {"log_length_correlation", figures.seen.lengths.correlation()},
                    {"sessions", figures.seen.prefixes.sessions},
                    {"requests_in_sessions", figures.seen.prefixes.requests_in_sessions},
                    {"longest_session_requests", figures.seen.prefixes.longest_session},
                    {"prefix_ids", read.prefix_ids},
                    {"prefix", prefixes_json(read, figures.seen.prefixes)},
                    {"lru_curve", lru_json(figures)}};
  if (figures.max_model_len > Tokens(0)) {
    const workload::OverLimit& over = figures.seen.lengths.over_limit();
    json["over_limit"] = {{"max_model_len", figures.max_model_len.count()},
                          {"prompt", over.prompt},
                          {"prompt_and_output", over.total},
                          {"prompt_and_max_tokens", over.declared}};
  }
  return json;
}

}  // namespace blockyard::cli
