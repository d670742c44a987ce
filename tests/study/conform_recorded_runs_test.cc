// Recorded runs of the real engine: every line of every file is decided as the engine decided it, whichever way our
// scheduler gets through its steps.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "sim/study/conform/replay.h"

using namespace blockyard::study;

namespace {

std::vector<std::string> files_in(const std::filesystem::path& folder) {
  std::vector<std::string> files;
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void all_identical(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const Record record = read_record(file);
    for (const StepPath path : {StepPath::fast, StepPath::sums, StepPath::general}) {
      const ReplayResult result = replay(record, path);
      INFO((result.difference ? to_text(*result.difference, file) : file));
      CHECK_FALSE(result.difference);
      CHECK(result.steps == static_cast<std::int64_t>(record.steps.size()));
    }
  }
}

void all_identical_where_present(const std::string& set, std::size_t count) {
  const std::filesystem::path folder = std::filesystem::path(BLOCKYARD_DATA_DIR) / "golden" / set;
  const std::vector<std::string> files = files_in(folder);
  if (files.empty()) {
    fmt::print("test skipped: no recorded runs in {}\n", folder.string());
    return;
  }
  CHECK(files.size() >= count);
  all_identical(files);
}

}  // namespace

TEST_CASE("the recorded runs shipped with the tests are identical") {
  const std::filesystem::path golden = std::filesystem::path(BLOCKYARD_SOURCE_DIR) / "tests" / "golden";
  for (const char* set : {"v0", "v1", "v1_020"}) {
    const std::vector<std::string> files = files_in(golden / set);
    REQUIRE(files.size() >= 10);
    all_identical(files);
  }
}

TEST_CASE("all recorded runs of vLLM 0.6.6 are identical") { all_identical_where_present("v0", 27); }
TEST_CASE("all recorded runs of vLLM 0.13 are identical") { all_identical_where_present("v1", 77); }
TEST_CASE("all recorded runs of vLLM 0.20 are identical") { all_identical_where_present("v1_020", 14); }
