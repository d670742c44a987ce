// Reading recorded runs: wrong input is named with its file and line.
#include "sim/study/conform/record.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "sim/base/diagnostics.h"

using namespace blockyard;
using namespace blockyard::study;
using Catch::Contains;

namespace {

const std::string kHeader =
    R"({"format":"vllm-oracle-v1/1","name":"one","config":{"policy":"fcfs","block_size":16,"num_gpu_blocks":10,)"
    R"("max_num_seqs":4,"max_num_batched_tokens":64,"max_model_len":64,"long_prefill_token_threshold":0,)"
    R"("enable_chunked_prefill":true,"enable_prefix_caching":true,"frontend_check":true},)"
    R"("requests":[["r0000",0,0,0.5,3,1000,[[1,4],[5,2],[100,1]]]],"aborts":[[9,0]]})";
const std::string kStep = R"({"s":0,"sch":[[0,7,1,0]]})";
const std::string kEnd = R"({"end":1,"stalled":0})";

class File {
 public:
  explicit File(const std::string& text)
      : path_((std::filesystem::temp_directory_path() / "blockyard_conform_record_test.jsonl").string()) {
    std::ofstream(path_) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string mistake(const std::string& text) {
  const File file(text);
  try {
    (void)read_record(file.path());
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("a record is read whole") {
  const File file(kHeader + "\n" + kStep + "\n" + kEnd + "\n");
  const Record record = read_record(file.path());
  CHECK(record.engine == RecordedEngine::vllm_v1);
  CHECK(record.config.block_size == Tokens(16));
  REQUIRE(record.requests.size() == 1);
  CHECK(record.requests[0].request.prompt_tokens == Tokens(7));
  CHECK(record.requests[0].request.arrival == SimTime(500'000'000));
  // Runs that go on are joined, and the answer follows the prompt.
  CHECK(record.requests[0].content == Content{{1, 6}, {100, 1}, {1000, 3}});
  REQUIRE(record.aborts.size() == 1);
  CHECK(record.steps.size() == 1);
  CHECK(record.end.number == 3);
  CHECK(to_text(record) == kHeader + "\n" + kStep + "\n" + kEnd + "\n");
}

TEST_CASE("mistakes in a record are named with their line") {
  CHECK_THAT(mistake(""), Contains("is empty"));
  CHECK_THAT(mistake(kHeader + "\n{\"s\":0,\n"), Contains(".jsonl:2:") && Contains("no JSON"));
  CHECK_THAT(mistake(kHeader + "\n" + kStep + "\n"), Contains("\"end\""));
  CHECK_THAT(mistake(kHeader + "\n{\"sch\":[]}\n" + kEnd), Contains(".jsonl:2") && Contains("\"s\" is missing"));
  CHECK_THAT(mistake(kHeader + "\n" + kEnd + "\n" + kStep + "\n"), Contains(".jsonl:3") && Contains("after the end"));
  CHECK_THAT(mistake(replaced(kHeader, "vllm-oracle-v1/1", "vllm-oracle-v9/1")), Contains("expected vllm-oracle-v1/1"));
  CHECK_THAT(mistake(replaced(kHeader, "\"block_size\"", "\"block_sise\"")),
             Contains("\"block_size\" is missing; did you mean \"block_sise\"?"));
  CHECK_THAT(mistake(replaced(kHeader, "\"num_gpu_blocks\":10", "\"num_gpu_blocks\":1")), Contains("at least 2"));
  CHECK_THAT(mistake(replaced(kHeader, "\"fcfs\"", "\"lifo\"")), Contains("expected fcfs or priority"));
  CHECK_THAT(mistake(replaced(kHeader, "[[9,0]]", "[[9,1]]")), Contains("request 1 is aborted, there are 1"));
  CHECK_THAT(mistake(replaced(kHeader, "[[1,4],[5,2],[100,1]]", "[]")), Contains("request 0 has an empty prompt"));
  CHECK_THAT(mistake(replaced(kHeader, ",3,1000,", ",0,1000,")), Contains("max tokens is 0"));
}

TEST_CASE("a file that is not there cannot be read") {
  CHECK_THROWS_WITH(read_record("no/such/file.jsonl"), Contains("no/such/file.jsonl") && Contains("cannot be read"));
}
