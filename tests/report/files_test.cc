// The files of a run: they read back to what was told, and a failure leaves nothing behind.
#include "sim/report/files.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/report/csv.h"
#include "sim/report/summary_json.h"

using namespace blockyard;
using namespace blockyard::report;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path =
      fs::temp_directory_path() / ("blockyard-report-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
  Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }
};

std::vector<std::vector<std::string>> rows_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> fields;
    std::string field;
    std::istringstream row(line + ",");
    while (std::getline(row, field, ',')) fields.push_back(field);
    rows.push_back(fields);
  }
  return rows;
}

// Two slots of memory; request 0 gets tokens at 1.5 and 2.75 s, request 1 is rejected at 1 ns.
metrics::Collector told() {
  metrics::Collector c(
      {.timeseries_interval = SimTime(1'000'000'000), .slo = {}, .slot_bytes = 10, .capacity_slots = 2});
  const auto memory = [](std::int64_t live) {
    MemoryPartition p;
    p[MemoryState::live] = live;
    p[MemoryState::free] = 2 - live;
    return p;
  };
  c.set_memory(memory(0), 2);
  const auto first = c.arrived(SimTime(0), Tokens(7));
  c.advance(SimTime(1));
  const auto second = c.arrived(SimTime(1), Tokens(9));
  c.rejected(second, SimTime(1), metrics::RejectReason::never_fits);
  c.admitted(first, SimTime(1));
  c.set_memory(memory(1), 1);
  c.advance(SimTime(1'500'000'000));
  c.first_token(first, SimTime(1'500'000'000));
  c.step(7, 1);
  c.advance(SimTime(2'750'000'000));
  c.token_gap(SimTime(1'250'000'000), 1);
  c.step(1, 1);
  c.finished(first, SimTime(2'750'000'000), Tokens(2));
  return c;
}

}  // namespace

TEST_CASE("requests.csv has a row a request, exact to the nanosecond") {
  const Folder folder;
  const metrics::Collector collector = told();
  write_reports(folder.path, collector.summarise(), collector);
  const auto rows = rows_of(folder.path / "requests.csv");
  REQUIRE(rows.size() == 3);
  CHECK(rows[1] == std::vector<std::string>{"0", "0", "7", "2", "finished", "", "0.000000001", "1.5", "1.25", "2.75",
                                            "0", "0", "0"});
  CHECK(rows[2][1] == "0.000000001");
  CHECK(rows[2][4] == "rejected");
  CHECK(rows[2][5] == "never_fits");
  CHECK(rows[2][7].empty());
}

TEST_CASE("timeseries.csv: the states of each row add up to the pool, tokens to the run's") {
  const Folder folder;
  const metrics::Collector collector = told();
  write_reports(folder.path, collector.summarise(), collector);
  const auto rows = rows_of(folder.path / "timeseries.csv");
  REQUIRE(rows.size() == 4);  // the header, 1 s, 2 s, and the end
  std::int64_t tokens = 0;
  const auto column = [&](const std::string& name) {
    const auto at = std::find(rows[0].begin(), rows[0].end(), name);
    REQUIRE(at != rows[0].end());
    return static_cast<std::size_t>(at - rows[0].begin());
  };
  for (std::size_t i = 1; i < rows.size(); ++i) {
    std::int64_t bytes = 0;
    for (const char* state : kMemoryStateNames) bytes += std::stoll(rows[i][column(std::string(state) + "_bytes")]);
    CHECK(bytes == 20);
    tokens += std::stoll(rows[i][column("output_tokens")]);
  }
  CHECK(tokens == 2);
}

TEST_CASE("a folder that cannot be made is an error, and nothing is left behind") {
  const Folder folder;
  fs::create_directories(folder.path);
  std::ofstream(folder.path / "taken") << "a file";
  const metrics::Collector collector = told();
  CHECK_THROWS_AS(write_reports(folder.path / "taken", collector.summarise(), collector), InputError);
  // requests.csv cannot be put where a folder stands: the others must not appear either.
  fs::create_directories(folder.path / "out" / "requests.csv" / "in the way");
  CHECK_THROWS_AS(write_reports(folder.path / "out", collector.summarise(), collector), InputError);
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path / "out"))
    files += entry.is_regular_file() ? 1U : 0U;
  CHECK(files == 0);
}

TEST_CASE("seconds are integer nanoseconds with a point") {
  const auto text = [](std::int64_t ns) {
    fmt::memory_buffer out;
    append_seconds(out, SimTime(ns));
    return fmt::to_string(out);
  };
  CHECK(text(0) == "0");
  CHECK(text(1) == "0.000000001");
  CHECK(text(1'500'000'000) == "1.5");
  CHECK(text(12'000'000'000) == "12");
}
