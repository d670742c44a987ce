// blockyard conform: exit statuses, one line a file, and folders.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/cli/dispatch.h"

using namespace blockyard::cli;
using Catch::Contains;

namespace {

const std::string kGolden = std::string(BLOCKYARD_SOURCE_DIR) + "/tests/golden";

struct Run {
  ExitStatus status;
  std::string out;
  std::string err;
};

Run conform(Arguments arguments) {
  arguments.insert(arguments.begin(), "conform");
  std::ostringstream out;
  std::ostringstream err;
  const ExitStatus status = run_command_line(arguments, {out, err});
  return {status, out.str(), err.str()};
}

// A recorded run with the last line before the end left out.
std::string altered_run() {
  const std::string file = (std::filesystem::temp_directory_path() / "blockyard_conform_altered.jsonl").string();
  std::ifstream in(kGolden + "/v1/base_04.jsonl");
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  lines.erase(lines.end() - 2);
  std::ofstream out(file);
  for (const std::string& line : lines) out << line << '\n';
  return file;
}

}  // namespace

TEST_CASE("identical runs: a line each, a last line, status 0; a folder stands for its files") {
  const Run one = conform({kGolden + "/v0/v0base_00.jsonl", kGolden + "/v1/base_04.jsonl"});
  CHECK(one.status == ExitStatus::done);
  CHECK_THAT(one.out, Contains("v0base_00.jsonl steps 106\n") && Contains("2 of 2 runs identical\n"));
  CHECK(one.err.empty());

  const Run folder = conform({kGolden + "/v0", "--quiet"});
  CHECK(folder.status == ExitStatus::done);
  CHECK(folder.out == "12 of 12 runs identical\n");
}

TEST_CASE("a run that differs: DIFF with step and key, status 1") {
  const std::string file = altered_run();
  const Run run = conform({file, kGolden + "/v1/base_04.jsonl"});
  CHECK(run.status == ExitStatus::run_failed);
  CHECK_THAT(run.out, Contains("DIFF " + file + " step 70: end: expected the end, got a step\n"));
  CHECK_THAT(run.out, Contains("1 of 2 runs identical\n"));
  std::filesystem::remove(file);
}

TEST_CASE("what cannot be read is named, the others are compared all the same, status 2") {
  const Run run = conform({"no_such.jsonl", kGolden + "/v1/base_04.jsonl"});
  CHECK(run.status == ExitStatus::bad_input);
  CHECK_THAT(run.err, Contains("no_such.jsonl: cannot be read"));
  CHECK_THAT(run.out, Contains("1 of 2 runs identical\n"));
  CHECK(conform({}).status == ExitStatus::bad_input);
  CHECK(conform({"--shrink", "a", "b"}).status == ExitStatus::bad_input);
}

TEST_CASE("conform --shrink writes a smaller run that differs still") {
  const std::string file = altered_run();
  const std::string out = file + ".small";
  const Run run = conform({"--shrink", file, "--out", out});
  CHECK(run.status == ExitStatus::run_failed);
  CHECK(conform({out}).status == ExitStatus::run_failed);
  CHECK(conform({"--shrink", kGolden + "/v1/base_04.jsonl", "--out", out}).status == ExitStatus::done);
  std::filesystem::remove(file);
  std::filesystem::remove(out);
}
