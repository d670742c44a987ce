// Shrinking: the smallest workload on which a reference with a known quirk still differs from us.
#include "sim/study/conform/shrink.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "sim/study/conform/cut.h"

using namespace blockyard;
using namespace blockyard::study;

namespace {

constexpr std::int64_t kStepLimit = 10'000;

Record shipped(const std::string& name) {
  return read_record((std::filesystem::path(BLOCKYARD_SOURCE_DIR) / "tests" / "golden" / name).string());
}

// As we decide, but for a wrong count of free blocks when a request of at least 100 prompt tokens finishes with 5
// tokens or more.
std::optional<Record> quirky(const Record& header) {
  Record run = run_header(header, StepPath::general, kStepLimit);
  for (RecordLine& line : run.steps) {
    for (const Json& end : line.json.value("fin", Json::array())) {
      const Tokens prompt = header.requests[end[0].get<std::size_t>()].request.prompt_tokens;
      if (prompt >= Tokens(100) && end[1] >= 5) line.json["f"][1] = line.json["f"][1].get<std::int64_t>() + 1;
    }
  }
  return run;
}

}  // namespace

TEST_CASE("a workload shrinks to one request of exactly the size that matters") {
  for (const char* name : {"v0/v0recompute_00.jsonl", "v1/abort_00.jsonl"}) {
    const std::optional<Shrunk> shrunk = shrink(shipped(name), quirky);
    REQUIRE(shrunk);
    REQUIRE(shrunk->record.requests.size() == 1);
    CHECK(shrunk->record.requests[0].request.prompt_tokens == Tokens(100));
    CHECK(shrunk->record.requests[0].request.max_tokens == Tokens(5));
    CHECK(shrunk->record.aborts.empty());
    CHECK(replay(shrunk->record, StepPath::fast).difference);
  }
}

TEST_CASE("where fast and general path agree there is nothing to shrink") {
  CHECK_FALSE(shrink(shipped("v1/prioritypress_05.jsonl"), reference_general_path(kStepLimit)));
}

TEST_CASE("a record cut after its difference differs there still, and is a true record up to it") {
  constexpr std::size_t kWrong = 8;  // an early line: most requests have not arrived
  for (const char* name : {"v0/v0swap_08.jsonl", "v1/abort_00.jsonl", "v1/prefixpress_07.jsonl"}) {
    const Record whole = shipped(name);
    Record wrong = whole;
    RecordLine& line = wrong.steps[kWrong];
    const Json true_line = line.json;
    line.json["fq"][1] = 0;
    const ReplayResult found = replay(wrong, StepPath::fast);
    REQUIRE(found.difference);

    Record cut = cut_after_difference(wrong, *found.difference);
    CHECK(cut.steps.size() == kWrong + 1);
    CHECK(cut.requests.size() < whole.requests.size());
    const ReplayResult again = replay(cut, StepPath::fast);
    REQUIRE(again.difference);
    CHECK(again.difference->step == found.difference->step);
    CHECK(again.difference->key == "fq");

    cut.steps.back().json["fq"] = true_line["fq"];
    CHECK_FALSE(replay(cut, StepPath::fast).difference);
  }
}

TEST_CASE("requests that only wait at the back and tokens not yet generated go from a cut record") {
  Record wrong = shipped("v0/v0recompute_00.jsonl");
  RecordLine& line = wrong.steps[40];
  const std::int64_t waiting = line.json["q"][1].get<std::int64_t>();
  REQUIRE(waiting > 5);
  const Json true_line = line.json;
  line.json["fq"][1] = 0;
  const ReplayResult found = replay(wrong, StepPath::fast);
  REQUIRE(found.difference);
  Record cut = cut_after_difference(wrong, *found.difference);
  CHECK(cut.steps.back().json["q"][1].get<std::int64_t>() < waiting);
  std::int64_t tokens = 0;
  std::int64_t tokens_before = 0;
  for (std::size_t i = 0; i < cut.requests.size(); ++i) {
    tokens += cut.requests[i].request.max_tokens.count();
    tokens_before += wrong.requests[i].request.max_tokens.count();
  }
  CHECK(tokens < tokens_before);
  REQUIRE(replay(cut, StepPath::fast).difference);
  CHECK(replay(cut, StepPath::fast).difference->key == "fq");

  // With the line as the engine wrote it, what is left is a true record, its end included.
  cut.steps.back().json["fq"] = true_line["fq"];
  CHECK_FALSE(replay(cut, StepPath::fast).difference);
}

TEST_CASE("a program that prints a record is a reference") {
  const Record record = shipped("v1/base_04.jsonl");
  const std::string scratch = (std::filesystem::temp_directory_path() / "blockyard_shrink_test_header").string();
  // `cat` prints the header alone: no run. A program that fails is none either.
  CHECK_FALSE(reference_program("cat", scratch)(record));
  CHECK_FALSE(reference_program("false", scratch)(record));
  const std::optional<Record> run = reference_program("sh -c 'cat \"" + record.file + "\"'", scratch)(record);
  REQUIRE(run);
  CHECK(run->steps.size() == record.steps.size());
  CHECK_FALSE(std::filesystem::exists(scratch));
}
