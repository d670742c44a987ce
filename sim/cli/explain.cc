// blockyard explain: one request's time, wait by wait, from the files of a run.
#include <fmt/format.h>

#include <charconv>
#include <ostream>

#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/report/story.h"
#include "sim/report/summary_json.h"

namespace blockyard::cli {
namespace {

std::size_t number_of(const Options& options, const std::string& name, std::size_t least) {
  const std::string text = options.value_of(name).value_or("");
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least) {
    options.fail(fmt::format("--{}: expected a number from {} on, found \"{}\"", name, least, text));
  }
  return number;
}

report::WorstBy figure_of(const Options& options) {
  const std::string by = options.value_of("by").value_or("e2e");
  if (by == "ttft") return report::WorstBy::ttft;
  if (by == "stall") return report::WorstBy::stall;
  if (by == "e2e") return report::WorstBy::e2e;
  options.fail(fmt::format("--by: expected ttft, stall or e2e, found \"{}\"", by));
}

// "no request ..."
const char* none_has(report::WorstBy by) {
  switch (by) {
    case report::WorstBy::ttft:
      return "had a first token";
    case report::WorstBy::stall:
      return "was stalled";
    case report::WorstBy::e2e:
      return "finished";
  }
  return "";
}

}  // namespace

ExitStatus explain(const Arguments& arguments, Streams streams) {
  Options options("blockyard explain", "one request's time, wait by wait: for what, behind whom, for whom preempted");
  options.words("DIR", 1, 1, "the folder that `blockyard run --out DIR` has written");
  options.value("request", "ID", "the request, by its number in requests.csv");
  options.value("worst", "N",
                "the N worst instead; unfinished and timed-out ones have no e2e, nor ttft before a first token");
  options.value("by", "FIGURE", "worst by ttft, stall or e2e (default)");
  options.flag("json", "print JSON, and nothing else, to standard output");
  if (!options.parse(arguments, streams)) return ExitStatus::done;
  if (options.has("request") == options.has("worst")) {
    options.fail("whose story? expected one of --request ID and --worst N");
  }
  if (options.has("by") && !options.has("worst")) options.fail("--by goes with --worst N");
  const std::size_t number = options.has("worst") ? number_of(options, "worst", 1) : number_of(options, "request", 0);
  const report::WorstBy by = figure_of(options);

  const report::RunFiles files = report::read_run_files(options.words().front());
  std::vector<std::size_t> ids{number};
  if (options.has("worst")) {
    ids = report::worst(files, number, by);
  } else if (number >= files.requests.size()) {
    options.fail(fmt::format(
        "--request {}: {} has {}", number, options.words().front(),
        files.requests.empty() ? "no requests" : fmt::format("requests 0 to {}", files.requests.size() - 1)));
  }

  nlohmann::ordered_json stories = nlohmann::ordered_json::array();
  std::string text;
  for (const report::Story& story : report::stories_of(files, ids)) {
    if (options.has("json")) {
      stories.push_back(report::story_json(story));
    } else {
      text += (text.empty() ? "" : "\n") + report::print_story(story);
    }
  }
  if (options.has("json")) {
    streams.out << report::json_text({{"schema", "blockyard.explanation/1"}, {"requests", stories}});
  } else {
    streams.out << (ids.empty() ? fmt::format("no request of {} {}\n", options.words().front(), none_has(by)) : text);
  }
  return ExitStatus::done;
}

}  // namespace blockyard::cli
