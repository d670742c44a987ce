// What --export-trace writes, run again in place of the workload, gives the same bytes.
#include "sim/serving/exported.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "tests/serving/random_scenario.h"
#include "tests/serving/runs.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

// A file name of its own, gone with the object.
class Exported {
 public:
  explicit Exported(const char* ending) {
    static int files = 0;
    path_ =
        std::filesystem::temp_directory_path() / fmt::format("blockyard-export-{}-{}{}", ::getpid(), files++, ending);
  }
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;
  ~Exported() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

Files with_trace(const scenario::Document& scenario, const serving::RequestsOverride* requests) {
  return files_of(serving::run(scenario, config_folder(), {.go_on = {}, .time_series = true, .requests = requests}));
}

void check_replay(const scenario::Document& scenario, const std::string& path) {
  static_cast<void>(serving::export_requests(scenario, config_folder(), path));
  const serving::RequestsOverride exported = serving::exported_requests(scenario, config_folder(), path);
  const Files first = with_trace(scenario, nullptr);
  const Files again = with_trace(scenario, &exported);
  REQUIRE(again.requests == first.requests);
  REQUIRE(again.time_series == first.time_series);
  REQUIRE(again.summary == first.summary);
}

}  // namespace

TEST_CASE("whatever is run, its exported requests give the same bytes") {
  REQUIRE(rc::check([] {
    const RandomScenario scenario = random_scenario(*rc::gen::element(Loop::open, Loop::closed));
    INFO(scenario.yaml);
    RC_LOG() << scenario.yaml;
    const scenario::Document document = parsed(scenario.yaml);
    const Exported file(".csv");
    static_cast<void>(serving::export_requests(document, config_folder(), file.path()));
    const serving::RequestsOverride exported = serving::exported_requests(document, config_folder(), file.path());
    const Files first = with_trace(document, nullptr);
    const Files again = with_trace(document, &exported);
    RC_ASSERT(again.requests == first.requests);
    RC_ASSERT(again.time_series == first.time_series);
    RC_ASSERT(again.summary == first.summary);
  }));
}

TEST_CASE("ids of prompt blocks are exported as JSON lines, and refused as CSV") {
  const Exported mooncake("-in.jsonl");
  std::ofstream(mooncake.path()) << R"({"timestamp": 0, "input_length": 1100, "output_length": 9, "hash_ids": [7, 8, 9]}
{"timestamp": 40, "input_length": 1030, "output_length": 3, "hash_ids": [7, 8, 4]}
{"timestamp": 300, "input_length": 1100, "output_length": 20, "hash_ids": [7, 8, 9]}
)";
  const scenario::Document scenario =
      parsed(fmt::format("name: test\nmodel: llama-3-8b\nhardware: {{gpu: a100-80gb-sxm}}\n"
                         "workload: {{trace: {{file: {}}}}}\ncost: {{model: fixed, step: 10 ms}}\n",
                         mooncake.path()));
  const Exported json(".jsonl");
  check_replay(scenario, json.path());
  const Exported csv(".csv");
  CHECK_THROWS_WITH(serving::export_requests(scenario, config_folder(), csv.path()),
                    Catch::Contains("prompts have ids of blocks, which CSV cannot say"));
  CHECK_FALSE(std::filesystem::exists(csv.path()));
}

TEST_CASE("an export has the columns that its requests use") {
  const auto header = [](const TraceFile& trace) {
    const Exported file(".csv");
    static_cast<void>(serving::export_requests(parsed(small_engine(trace), {"workload.max_tokens.rule=recorded"}),
                                               config_folder(), file.path()));
    std::string line;
    std::ifstream in(file.path());
    std::getline(in, line);
    return line;
  };
  CHECK(header(TraceFile({{SimTime(0), 20, 3, ",3,0"}}, ",max_tokens,session")) ==
        "arrival_s,prompt_tokens,output_tokens");
  CHECK(header(TraceFile({{SimTime(0), 20, 3, ",3,0"}, {SimTime(5), 20, 3, ",9,4"}}, ",max_tokens,session")) ==
        "arrival_s,prompt_tokens,output_tokens,max_tokens,session");
}

TEST_CASE("an export without a known ending is refused before anything is read") {
  const TraceFile trace({{SimTime(0), 20, 3, ""}});
  CHECK_THROWS_WITH(serving::export_requests(parsed(small_engine(trace)), config_folder(), "requests.txt"),
                    Catch::Contains("expected .csv or .jsonl"));
}
