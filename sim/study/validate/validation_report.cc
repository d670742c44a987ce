#include "sim/study/validate/validation_report.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/report/figures.h"
#include "sim/report/text_table.h"

namespace blockyard::study {
namespace {

using nlohmann::ordered_json;
using report::TextTable;

constexpr std::size_t kWidth = 120;

struct Statistic {
  const char* name;
  std::optional<Seconds> metrics::Distribution::* value;
};
constexpr std::array<Statistic, 4> kStatistics{{{"mean", &metrics::Distribution::mean_s},
                                                {"p50", &metrics::Distribution::p50_s},
                                                {"p90", &metrics::Distribution::p90_s},
                                                {"p99", &metrics::Distribution::p99_s}}};

std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

void add_times(TextTable& table, const ComparedTimes& t) {
  if (!t.measured.mean_s || !t.simulated.mean_s) return;
  const report::Unit unit = report::time_unit(std::max(*t.measured.mean_s, *t.simulated.mean_s));
  for (const Statistic& s : kStatistics) {
    const Seconds measured = *(t.measured.*s.value);
    const Seconds simulated = *(t.simulated.*s.value);
    table.add({fmt::format("  {} {}", upper(t.name), s.name), unit.name, report::in_unit(measured, unit),
               report::in_unit(simulated, unit), measured > 0 ? report::error_text(simulated / measured - 1) : "-"});
  }
  if (t.per_request_error) {
    table.add({fmt::format("  {} of each request", upper(t.name)), "", "", "",
               fmt::format("{:.1f} % MAPE", 100 * *t.per_request_error)});
  } else if (t.measured_zero > 0) {
    table.add({fmt::format("  {} of each request", upper(t.name)), "", "", "", "-"});
  }
}

// "makespan_s" -> "makespan" and "s"; "requests_per_s" -> "requests" and "1/s".
std::pair<std::string, std::string> name_and_unit(const std::string& figure) {
  if (figure.ends_with("_per_s")) {
    std::string name = figure.substr(0, figure.size() - 6);
    for (char& c : name) c = c == '_' ? ' ' : c;
    return {std::move(name), "1/s"};
  }
  return {figure.substr(0, figure.size() - 2), "s"};
}

ordered_json distribution_json(const metrics::Distribution& d) {
  ordered_json j;
  j["count"] = d.count;
  for (const Statistic& s : kStatistics) {
    const auto& value = d.*s.value;
    j[s.name] = value ? ordered_json(*value) : ordered_json(nullptr);
  }
  return j;
}

std::string shared_text(const MeasuredFile& file) {
  switch (file.shared_by) {
    case SharedBy::blocks:
      return fmt::format("share blocks of 16 tokens, as {} beside it names them", file.blocks_file);
    case SharedBy::prompt_id:
      return "of one prompt_id are equal";
    case SharedBy::prefix_id:
      return "of one prefix_id begin with the same prefix_tokens";
    case SharedBy::prefix_and_prompt_id:
      return "of one prefix_id begin with the same prefix_tokens, those of one prompt_id are equal";
    case SharedBy::nothing:
      break;
  }
  return "what they share is not told: nothing, to the simulation";
}

const char* shared_word(SharedBy shared) {
  switch (shared) {
    case SharedBy::blocks:
      return "blocks";
    case SharedBy::prompt_id:
      return "prompt_id";
    case SharedBy::prefix_id:
      return "prefix_id";
    case SharedBy::prefix_and_prompt_id:
      return "prefix_id, prompt_id";
    case SharedBy::nothing:
      break;
  }
  return "nothing";
}

ordered_json measured_json(const Validation& v) {
  const MeasuredFile& file = v.file;
  ordered_json j;
  j["file"] = file.name;
  j["format"] = file.format;
  j["requests"] = v.requests;
  j["failed"] = file.failed;
  j["without_output"] = file.without_output;
  j["untimed"] = file.untimed;
  j["out_of_order"] = file.out_of_order;
  j["other_tpot"] = file.other_tpot;
  j["without_gaps"] = file.without_gaps;
  j["fewer_gaps"] = file.fewer_gaps;
  j["more_gaps"] = file.more_gaps;
  j["long_prefix"] = file.long_prefix;
  ordered_json& client = j["client"] = ordered_json::object();
  for (const auto& [key, value] : file.client) client[key] = value;
  j["read"] = file.read;
  j["not_read"] = file.not_read;
  j["shared_by"] = shared_word(file.shared_by);
  j["blocks_file"] = file.blocks_file.empty() ? ordered_json(nullptr) : ordered_json(file.blocks_file);
  return j;
}

std::string engine_text(const SimulatedEngine& e) {
  std::string text =
      fmt::format("scheduler {}, preset {}{}: {} scheduling", e.scheduler, e.preset,
                  e.preset_given ? "" : " (the default)", e.async_scheduling ? "asynchronous" : "synchronous");
  const auto add = [&](std::int64_t size, std::string_view what) {
    if (size > 1) text += fmt::format(", {} parallel {}", what, size);
  };
  add(e.tensor_parallel, "tensor");
  add(e.pipeline_parallel, "pipeline");
  add(e.data_parallel, "data");
  return text;
}

// What the simulated engine found in its prefix cache, which decides TTFT.
std::string prefix_text(const metrics::Summary& s) {
  if (const auto ratio = s.prefix_cache.hit_ratio()) {
    return fmt::format("{} of the prompts' tokens found in the simulated prefix cache", report::share_text(*ratio));
  }
  return s.prefix_cache_work
             ? "no prompt was looked up"
             : "the simulated engine has no prefix cache; if yours has, prefix_cache.enable: true (whoever "
               "was preempted finds its blocks again)";
}

std::vector<std::string> all_notes(const Validation& v) {
  std::vector<std::string> notes = v.notes;
  notes.insert(notes.end(), v.summary.identity.notes.begin(), v.summary.identity.notes.end());
  return notes;
}

}  // namespace

std::string print_not_served(const Validation& v) {
  const metrics::Summary& s = v.summary;
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t count, std::string_view how) {
    if (count > 0) parts.push_back(fmt::format("{} {}", report::count_text(count), how));
  };
  for (std::size_t i = 1; i < metrics::kRejectReasons; ++i) {
    add(s.rejected_by_reason[i], fmt::format("rejected: {}", metrics::name_of(static_cast<metrics::RejectReason>(i))));
  }
  add(s.timed_out, "timed out");
  add(s.unfinished, "unfinished");
  add(v.cut_short, "cut short at engine.max_model_len");
  return parts.empty() ? "" : fmt::format("not served  in the simulation: {}\n", fmt::join(parts, "; "));
}

std::string print_measured_file(const MeasuredFile& file) {
  constexpr const char* kIndent = "            ";
  std::string text;
  const auto line = [&](std::string_view first, const std::string& rest) {
    text += report::wrapped(first, rest, kWidth, kIndent);
  };
  line("read        ", fmt::format("{}", fmt::join(file.read, ", ")));
  if (!file.not_read.empty()) line("not read    ", fmt::format("{}", fmt::join(file.not_read, ", ")));
  line("prompts     ", shared_text(file));
  const auto count = [&](std::int64_t rows, std::string_view what) {
    if (rows > 0) line("rows        ", fmt::format("{} {}", report::count_text(rows), what));
  };
  count(file.failed, "failed when measured: left out");
  count(file.without_output, "without output tokens and without an error: left out");
  count(file.untimed, "without a measured time: simulated, not compared");
  count(file.out_of_order, "behind one that arrived later: put in order of arrival");
  count(file.other_tpot,
        fmt::format("with a tpot_s more than {:g} % and {:g} ms from (e2e_s - ttft_s) / (output_tokens - 1): "
                    "the latter is taken there",
                    100 * kTpotShare, kTpotNs / 1e6));
  count(file.without_gaps, "of several tokens and without itls: their E2E and TPOT are not known");
  count(file.fewer_gaps, "with fewer itls than output_lens - 1: tokens that came together");
  count(file.more_gaps, "with more itls than output_lens - 1: chunks without a token");
  count(file.long_prefix, "with more prefix_tokens than prompt_tokens: all of the prompt is taken as the prefix");
  std::vector<std::string> client;
  client.reserve(file.client.size());
  for (const auto& [key, value] : file.client) client.push_back(fmt::format("{} {}", key, value));
  if (!client.empty()) {
    line("client      ",
         fmt::format("{}: as the file says; of them nothing is used, the requests are sent at their start_times",
                     fmt::join(client, ", ")));
  }
  return text;
}

std::string print_validation(const Validation& v) {
  const metrics::Identity& identity = v.summary.identity;
  std::string text = fmt::format("{}: {} on {} x {}, beside {}\n\n", identity.scenario, identity.model, identity.gpus,
                                 identity.gpu, v.file.name);
  text += fmt::format("requests    {} measured (format {}), {} compared", report::count_text(v.requests), v.file.format,
                      report::count_text(v.compared));
  if (v.left_out > 0)
    text += fmt::format("; the first {} are simulated and not compared, nor what is of all: ITL, makespan, rates",
                        report::count_text(v.left_out));
  text += '\n' + print_not_served(v) + print_measured_file(v.file);
  text += report::wrapped("engine      ", engine_text(v.engine), kWidth, "            ");
  text += report::wrapped("prefix hits ", prefix_text(v.summary), kWidth, "            ");
  text += '\n';
  TextTable table;
  table.add({"", "unit", "measured", "simulated", "error"});
  for (const ComparedTimes& t : v.times) add_times(table, t);
  for (const ComparedFigure& f : v.figures) {
    const auto [name, unit] = name_and_unit(f.name);
    table.add({"  " + name, unit, report::significant(f.measured), report::significant(f.simulated),
               f.measured > 0 ? report::error_text(f.simulated / f.measured - 1) : "-"});
  }
  text += table.text();
  text += "\nerror: simulated / measured - 1. MAPE: mean over the requests of the absolute error of each.\n";
  for (const ComparedTimes& t : v.times) {
    if (t.measured_zero > 0)
      text += fmt::format("{} of {} requests is measured as 0: no error of theirs is told, nor is it in the MAPE\n",
                          upper(t.name), report::count_text(t.measured_zero));
  }
  text +=
      "TTFT from arrival to first token, TPOT (last - first token) / (outputs - 1) a request, E2E to the last token";
  text += v.times.size() > 3 ? ",\nITL every gap between tokens.\n" : ".\n";
  if (v.figures.empty() && v.left_out == 0) text += "makespan and throughput need the E2E of every request\n";
  if (v.summary.preemptions > 0)
    text += fmt::format("simulated preemptions: {}\n", report::count_text(v.summary.preemptions));
  text += '\n';
  for (const std::string& line : identity.provenance)
    text += report::wrapped("constants   ", line, kWidth, "            ");
  for (const std::string& line : all_notes(v)) text += report::wrapped("note        ", line, kWidth, "            ");
  return text;
}

ordered_json validation_json(const Validation& v) {
  ordered_json j;
  j["schema"] = "blockyard.validation/1";
  j["measured"] = measured_json(v);
  j["scenario"] = v.summary.identity.scenario;
  j["engine"] = {{"model", v.summary.identity.model},
                 {"gpu", v.summary.identity.gpu},
                 {"gpus", v.summary.identity.gpus},
                 {"tensor_parallel_size", v.engine.tensor_parallel},
                 {"pipeline_parallel_size", v.engine.pipeline_parallel},
                 {"data_parallel_size", v.engine.data_parallel},
                 {"scheduler", v.engine.scheduler},
                 {"preset", v.engine.preset},
                 {"async_scheduling", v.engine.async_scheduling}};
  j["provenance"] = v.summary.identity.provenance;
  j["notes"] = all_notes(v);
  j["left_out"] = v.left_out;
  j["compared"] = v.compared;
  ordered_json& times = j["times"] = ordered_json::object();
  for (const ComparedTimes& t : v.times) {
    times[t.name + "_s"] = {{"measured", distribution_json(t.measured)}, {"simulated", distribution_json(t.simulated)}};
  }
  ordered_json& figures = j["figures"] = ordered_json::object();
  for (const ComparedFigure& f : v.figures) figures[f.name] = {{"measured", f.measured}, {"simulated", f.simulated}};
  ordered_json& errors = j["error_pct"] = ordered_json::object();
  for (const SignedError& e : errors_of(v)) errors[e.name] = 100 * e.share;
  for (const std::string& name : measured_as_zero(v)) errors[name] = nullptr;
  j["simulated"] = {
      {"rejected", v.summary.rejected},
      {"timed_out", v.summary.timed_out},
      {"unfinished", v.summary.unfinished},
      {"cut_short", v.cut_short},
      {"preemptions", v.summary.preemptions},
      {"steps", v.summary.steps},
      {"prefix_hit_ratio",
       v.summary.prefix_cache.hit_ratio() ? ordered_json(*v.summary.prefix_cache.hit_ratio()) : ordered_json(nullptr)}};
  return j;
}

}  // namespace blockyard::study
