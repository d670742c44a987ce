#include "sim/report/files.h"

#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <iterator>
#include <set>

#include "sim/base/diagnostics.h"
#include "sim/report/comparison_csv.h"
#include "sim/report/csv.h"
#include "sim/report/summary_json.h"
#include "tests/report/example_summary.h"
#include "tests/report/lines.h"
#include "tests/temporary_folder.h"

namespace blockyard::report {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

// Requests that arrive every 0.1 s and end after 2 s, with a row a second.
metrics::Collector collector_of(int requests) {
  metrics::Collector::Options options;
  options.capacity_slots = 1000;
  options.slot_bytes = 16;
  options.timeseries_interval = SimTime(kNanosecondsPerSecond);
  metrics::Collector collector(options);
  MemoryPartition all_free;
  all_free[MemoryState::free] = 1000;
  collector.set_memory(0, all_free, 1000);
  for (int i = 0; i < requests; ++i) {
    const SimTime now(i * 100'000'000LL);
    collector.advance(now);
    const metrics::RecordId id = collector.arrived(now, Tokens(100 + i));
    collector.admitted(id, now);
    collector.first_token(id, now + SimTime(500'000'000));
    collector.finished(id, now + SimTime(2'000'000'000), Tokens(4));
  }
  return collector;
}

std::string message_of_failure(const fs::path& dir, const metrics::Collector& collector) {
  try {
    write_reports(dir, example_summary(), collector);
  } catch (const std::exception& error) {
    return error.what();
  }
  FAIL("nothing went wrong");
  return "";
}

TEST_CASE("three files, whole, in a folder that is made for them") {
  const TemporaryFolder folder;
  const fs::path dir = folder.path() / "runs" / "first";
  const metrics::Collector collector = collector_of(31);
  write_reports(dir, example_summary(), collector);
  CHECK(names_in(dir) == std::set<std::string>{"requests.csv", "summary.json", "timeseries.csv"});
  CHECK(content(dir / "summary.json") == json_text(summary_json(example_summary())));

  const std::vector<std::string> requests = lines_of(content(dir / "requests.csv"));
  REQUIRE(requests.size() == 32U);
  CHECK(requests[0] + "\n" == requests_header());
  CHECK(requests[1].starts_with("0,0,100,4,finished,,0,0.5,0.5,2,0,0,0,"));
  CHECK(requests[31].starts_with("30,3,130,4,finished,,0,0.5,0.5,2,0,0,0,"));

  const std::vector<std::string> rows = lines_of(content(dir / "timeseries.csv"));
  REQUIRE(rows.size() == 1 + collector.time_series().size());
  CHECK(rows[1].starts_with("1,0,0,"));
}

TEST_CASE("files larger than any buffer come out whole, in order of arrival") {
  const TemporaryFolder folder;
  write_reports(folder.path(), example_summary(), collector_of(40'000));
  const std::vector<std::string> requests = lines_of(content(folder.path() / "requests.csv"));
  REQUIRE(requests.size() == 40'001U);
  for (std::size_t i = 1; i < requests.size(); ++i) {
    const std::string start = std::to_string(i - 1) + ",";
    if (!requests[i].starts_with(start)) FAIL("row " << i << ": " << requests[i]);
  }
}

TEST_CASE("a second run takes the place of the first") {
  const TemporaryFolder folder;
  write_reports(folder.path(), example_summary(), collector_of(20));
  write_reports(folder.path(), example_summary(), collector_of(10));
  CHECK(lines_of(content(folder.path() / "requests.csv")).size() == 11U);
  CHECK(names_in(folder.path()).size() == 3U);
}

TEST_CASE("the files in a folder are of one run: memory.csv goes where the run writes none") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "memory.csv";
  {
    MemoryCsv changes(folder.path());
    write_reports(folder.path(), example_summary(), collector_of(3), &changes);
  }
  CHECK(content(file).starts_with("t_s,request,"));
  std::ofstream(folder.path() / "notes.txt") << "mine";
  write_reports(folder.path(), example_summary(), collector_of(3));
  CHECK(names_in(folder.path()) ==
        std::set<std::string>{"notes.txt", "requests.csv", "summary.json", "timeseries.csv"});
}

TEST_CASE("memory.csv stays where the run that would replace it fails") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "memory.csv") << "of before";
  fs::create_directory(folder.path() / "summary.json");
  message_of_failure(folder.path(), collector_of(3));
  CHECK(content(folder.path() / "memory.csv") == "of before");
}

TEST_CASE("what a run has left is removed, and nothing else") {
  const TemporaryFolder folder;
  const fs::path dir = folder.path() / "variant";
  write_reports(dir, example_summary(), collector_of(3));
  std::ofstream(dir / "notes.txt") << "mine";
  remove_reports(dir);
  CHECK(names_in(dir) == std::set<std::string>{"notes.txt"});
  fs::remove(dir / "notes.txt");
  remove_reports(dir);
  CHECK_FALSE(fs::exists(dir));
  CHECK_NOTHROW(remove_reports(dir));
}

TEST_CASE("a comparison is two files of its own") {
  const TemporaryFolder folder;
  const std::vector<Variant> variants{{"a", example_summary()}, {"b", example_summary()}};
  write_comparison(folder.path(), variants);
  CHECK(names_in(folder.path()) == std::set<std::string>{"comparison.csv", "comparison.json"});
  CHECK(content(folder.path() / "comparison.json") == json_text(comparison_json(variants)));
  CHECK(content(folder.path() / "comparison.csv") == comparison_csv(variants));
}

TEST_CASE("a folder that is a file, or below one, is said with its path") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "taken";
  std::ofstream(file) << "mine";
  for (const fs::path& dir : {file, file / "below"}) {
    const std::string message = message_of_failure(dir, collector_of(3));
    INFO(message);
    CHECK(message.starts_with(dir.string() + ": "));
  }
  CHECK(content(file) == "mine");
}

TEST_CASE("a folder in a file's place: nothing is written, nothing is left") {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "summary.json");
  const std::string message = message_of_failure(folder.path(), collector_of(3));
  CHECK(message == (folder.path() / "summary.json").string() + ": cannot be written: Is a directory");
  CHECK(names_in(folder.path()) == std::set<std::string>{"summary.json"});
}

// A limit on the size of files, as a stand-in for a full disk: writing fails half way.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_CASE("a disk that fills up leaves the files of the run before, and no part of the new ones") {
  const TemporaryFolder folder;
  const metrics::Collector first = collector_of(10);
  const metrics::Collector second = collector_of(40'000);
  write_reports(folder.path(), example_summary(), first);
  const std::string requests = content(folder.path() / "requests.csv");
  const std::string series = content(folder.path() / "timeseries.csv");
  std::string message;
  {
    const FullDisk disk(1'500'000);
    message = message_of_failure(folder.path(), second);
  }
  CHECK(message == (folder.path() / "requests.csv").string() + ": cannot be written: File too large");
  CHECK(names_in(folder.path()) == std::set<std::string>{"requests.csv", "summary.json", "timeseries.csv"});
  CHECK(content(folder.path() / "requests.csv") == requests);
  CHECK(content(folder.path() / "timeseries.csv") == series);
}

TEST_CASE("every file that is written is one of those that are said to be") {
  const TemporaryFolder folder;
  write_reports(folder.path(), example_summary(), collector_of(3));
  write_comparison(folder.path(), {});
  std::vector<fs::path> said = report_paths(folder.path());
  for (const fs::path& path : comparison_paths(folder.path())) said.push_back(path);
  for (const std::string& name : names_in(folder.path())) {
    INFO(name);
    CHECK(std::ranges::find(said, folder.path() / name) != said.end());
  }
  CHECK(std::ranges::find(said, folder.path() / "events.csv") != said.end());
  CHECK(std::ranges::find(said, folder.path() / "memory.csv") != said.end());
}

}  // namespace
}  // namespace blockyard::report
