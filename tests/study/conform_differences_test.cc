// A replay must see what is wrong, at the step where it happens. Each case takes a recorded run and writes into it what
// an engine with one wrong rule would have recorded: the first line that this alters must be reported, with its key.
#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>

#include "sim/study/conform/replay.h"

using namespace blockyard::study;

namespace {

Record shipped(const std::string& name) {
  return read_record((std::filesystem::path(BLOCKYARD_SOURCE_DIR) / "tests" / "golden" / name).string());
}

std::int64_t step_of(const RecordLine& line) { return line.json["s"].get<std::int64_t>(); }

// Alters the first line that `alter` can alter (it says so), and expects the replay to report that line and key.
void reports_first(const std::string& name, const std::string& key, const std::function<bool(Record&, Json&)>& alter) {
  INFO(name << ", " << key);
  Record record = shipped(name);
  for (RecordLine& line : record.steps) {
    if (!alter(record, line.json)) continue;
    for (const StepPath path : {StepPath::fast, StepPath::general}) {
      const ReplayResult result = replay(record, path);
      REQUIRE(result.difference);
      CHECK(result.difference->step == step_of(line));
      CHECK(result.difference->line == line.number);
      CHECK(result.difference->key == key);
    }
    return;
  }
  FAIL("no line to alter");
}

std::int64_t prompt_of(const Record& record, const Json& index) {
  return record.requests[index.get<std::size_t>()].request.prompt_tokens.count();
}

bool swap_first_two(Json& list) {
  if (list.size() < 2) return false;
  std::swap(list[0], list[1]);
  return true;
}

}  // namespace

TEST_CASE("v0: a sequence that stops at max_model_len instead of one beyond is reported") {
  reports_first("v0/v0maxlen_02.jsonl", "fin", [](Record& record, Json& line) {
    if (!line.contains("fin")) return false;
    for (Json& end : line["fin"]) {
      if (prompt_of(record, end[0]) + end[1].get<std::int64_t>() <= record.config.max_model_len.count()) continue;
      end[1] = end[1].get<std::int64_t>() - 1;
      return true;
    }
    return false;
  });
}

TEST_CASE("v0: a victim from the front of the running list is reported") {
  reports_first("v0/v0recompute_00.jsonl", "pre", [](Record& /*record*/, Json& line) {
    if (!line.contains("pre")) return false;
    line["pre"][0] = line["sch"][0];
    return true;
  });
}

TEST_CASE("v0: no prefills after a preemption under chunked prefill is reported") {
  reports_first("v0/v0chunk_00.jsonl", "sch", [](Record& /*record*/, Json& line) {
    if (!line.contains("pre") || !line.contains("np")) return false;
    line["sch"].erase(std::size_t{0});
    return true;
  });
}

TEST_CASE("v0: freed blocks at the back of the free list are reported") {
  reports_first("v0/v0base_00.jsonl", "fq", [](Record& /*record*/, Json& line) {
    if (!line.contains("fin")) return false;
    line["fq"][1] = line["fq"][0];
    return true;
  });
}

TEST_CASE("v0: a number of cached tokens that is looked up again is reported") {
  reports_first("v0/v0cachechunk_01.jsonl", "sch", [](Record& /*record*/, Json& line) {
    for (Json& entry : line["sch"]) {
      if (!entry.is_array() || entry[2] == 0) continue;
      entry[2] = entry[2].get<std::int64_t>() + 16;
      return true;
    }
    return false;
  });
}

TEST_CASE("v0: a swap in another order of blocks is reported") {
  reports_first("v0/v0swap_08.jsonl", "sx", [](Record& /*record*/, Json& line) {
    if (!line.contains("so")) return false;
    line["sx"] = line["sx"].get<std::uint32_t>() ^ 1U;
    return true;
  });
}

TEST_CASE("v0: host blocks that do not leak are reported") {
  reports_first("v0/v0never_01.jsonl", "c", [](Record& /*record*/, Json& line) {
    if (!line.contains("ign") || line["c"][0] == 200) return false;
    line["c"] = {200, 200};
    return true;
  });
}

TEST_CASE("v1: a preempted request that waits at the back is reported") {
  reports_first("v1/pressure_05.jsonl", "sch", [](Record& /*record*/, Json& line) {
    for (Json& entry : line["sch"]) {
      if (!entry.is_array() || entry.size() != 4 || entry[2] != 2) continue;
      entry[0] = entry[0].get<std::int64_t>() + 1;
      return true;
    }
    return false;
  });
}

TEST_CASE("v1: a prefix hit of the whole prompt is reported") {
  reports_first("v1/prefix_05.jsonl", "sch", [](Record& record, Json& line) {
    for (Json& entry : line["sch"]) {
      if (!entry.is_array() || entry.size() != 4 || entry[3] == 0) continue;
      entry[1] = entry[1].get<std::int64_t>() - record.config.block_size.count();
      entry[3] = entry[3].get<std::int64_t>() + record.config.block_size.count();
      return true;
    }
    return false;
  });
}

TEST_CASE("v1: tables freed in another order are reported") {
  reports_first("v1/base_04.jsonl", "fin",
                [](Record& /*record*/, Json& line) { return line.contains("fin") && swap_first_two(line["fin"]); });
}

TEST_CASE("v1_020: an admission that the gate would have refused is reported") {
  reports_first("v1_020/pressure_02.jsonl", "sch", [](Record& /*record*/, Json& line) {
    if (line["q"][1] == 0) return false;
    line["sch"].push_back({99, 1, 1, 0});
    return true;
  });
}

TEST_CASE("a missing key, an unknown key, a missing step and a wrong total are reported") {
  const Record whole = shipped("v1/prefix_05.jsonl");
  Record record = whole;
  record.steps[7].json.erase("bt");
  REQUIRE(replay(record, StepPath::fast).difference);
  CHECK(replay(record, StepPath::fast).difference->key == "bt");

  record = whole;
  record.steps[7].json["colour"] = "red";
  REQUIRE(replay(record, StepPath::fast).difference);
  CHECK(replay(record, StepPath::fast).difference->key == "colour");
  CHECK(replay(record, StepPath::fast).steps == 7);

  record = whole;
  record.steps.erase(record.steps.begin() + 7);
  REQUIRE(replay(record, StepPath::fast).difference);
  CHECK(replay(record, StepPath::fast).difference->key == "s");

  record = whole;
  record.steps.pop_back();
  REQUIRE(replay(record, StepPath::fast).difference);
  CHECK(replay(record, StepPath::fast).difference->key == "end");

  for (const char* total : {"finished", "hit_tokens", "sched_tokens", "evictions", "last_step"}) {
    record = whole;
    record.end.json[total] = record.end.json[total].get<std::int64_t>() + 1;
    REQUIRE(replay(record, StepPath::fast).difference);
    CHECK(replay(record, StepPath::fast).difference->key == total);
  }
}

TEST_CASE("a record without block ids is compared by what it has") {
  Record record = shipped("v1/prefix_05.jsonl");
  for (RecordLine& line : record.steps) {
    line.json.erase("fq");
    line.json.erase("bt");
  }
  CHECK_FALSE(replay(record, StepPath::fast).difference);
}

TEST_CASE("our own run of a header is the recorded one, byte for byte in its values") {
  for (const char* name : {"v0/v0swap_08.jsonl", "v1/abort_00.jsonl", "v1/quirk_24.jsonl", "v0/v0exhaust_00.jsonl"}) {
    const Record recorded = shipped(name);
    const Record own = run_header(recorded, StepPath::fast, 1'000'000);
    CHECK_FALSE(replay(own, StepPath::general).difference);
    REQUIRE(own.steps.size() == recorded.steps.size());
    CHECK(nlohmann::json(own.end.json) == nlohmann::json(recorded.end.json));
    CHECK(nlohmann::json(own.steps.back().json) == nlohmann::json(recorded.steps.back().json));
  }
}
