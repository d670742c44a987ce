// Every scenario in configs/ obeys the laws, and a recorded hour of conversations runs whole.
#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>

#include "tests/serving/laws.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

serving::RunResult run_file(const std::filesystem::path& file, const Sets& sets = {}) {
  const scenario::Document scenario = scenario::load(file, schema(), sets);
  serving::RunResult result = serving::run(scenario, config_folder(), {.go_on = {}, .time_series = true});
  REQUIRE(broken_laws(result, scenario) == std::vector<std::string>{});
  return result;
}

}  // namespace

TEST_CASE("every shipped scenario obeys the laws") {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(config_folder())) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  CHECK(files.size() >= 3);
  for (const std::filesystem::path& file : files) {
    CAPTURE(file.string());
    const metrics::Summary s = run_file(file).summary;
    CHECK(s.finished > 0);
    CHECK(s.stuck.empty());
  }
}

TEST_CASE("a recorded hour of conversations runs whole, and the same twice") {
  const std::filesystem::path trace = data_folder() / "traces" / "azure" / "AzureLLMInferenceTrace_conv.csv";
  if (!std::filesystem::exists(trace)) {
    std::cout << "test skipped: " << trace.string() << " is not here\n";
    return;
  }
  const std::filesystem::path scenario = config_folder() / "replay-azure-conversation.yaml";
  Sets sets{fmt::format("workload.trace.file={}", trace.string()), "admission.abandon_after=never"};
  const serving::RunResult result = run_file(scenario, sets);
  CHECK(result.summary.arrived == 19'366);
  CHECK(result.summary.rejected == 1);  // a prompt of 14,050 tokens, above the limit of 8,192
  CHECK(result.summary.rejected_by_reason[static_cast<std::size_t>(metrics::RejectReason::prompt_too_long)] == 1);
  CHECK(result.summary.finished == 19'365);
  CHECK(files_of(run_file(scenario, sets)) == files_of(result));

  sets.emplace_back("engine.fast_forward=false");
  CHECK(files_of(run_file(scenario, sets)) == files_of(result));

  sets.emplace_back("engine.max_model_len=16384");
  const metrics::Summary longer = run_file(scenario, sets).summary;
  CHECK(longer.rejected == 0);
  CHECK(longer.finished == 19'366);
}
