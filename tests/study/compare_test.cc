#include "sim/study/compare.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/base/diagnostics.h"

using namespace blockyard;
using namespace blockyard::study;

namespace {

namespace fs = std::filesystem;
const fs::path kConfigs = fs::path(BLOCKYARD_SOURCE_DIR) / "configs";

// A scenario of 300 requests in a file that lives as long as the object.
struct ScenarioFile {
  fs::path path = fs::temp_directory_path() / ("blockyard-compare-test-" + std::to_string(::getpid()) + ".yaml");

  ScenarioFile() {
    std::ofstream(path) << R"(name: compare-test
model: llama-3-8b
hardware: {gpu: a100-80gb-sxm}
workload:
  generate:
    requests: 300
    arrivals: {process: poisson, rate: 20 req/s}
    prompt_tokens: {distribution: lognormal, mean: 512, cv: 1.0}
    output_tokens: {distribution: constant, value: 64}
engine: {max_model_len: 8192}
kv_cache: {budget: 2000 blocks}
)";
  }
  ~ScenarioFile() { fs::remove(path); }
};

std::string compared_text(const std::vector<report::Variant>& compared) {
  return report::comparison_json(compared).dump();
}

}  // namespace

TEST_CASE("variants come back in their order with their labels, whatever the number of jobs") {
  const ScenarioFile file;
  const auto all = variants({parse_axis("kv_cache.budget=500 blocks,2000 blocks"), parse_axis("seed=1,2,3")});
  const auto one_job = compare(file.path, {}, all, kConfigs, {.jobs = 1});
  const auto four_jobs = compare(file.path, {}, all, kConfigs, {.jobs = 4});
  REQUIRE(one_job.size() == 6);
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(one_job[i].label == all[i].label);
  CHECK(compared_text(one_job) == compared_text(four_jobs));
}

TEST_CASE("variants share workload and seed: what does not differ in settings does not differ in results") {
  const ScenarioFile file;
  const auto compared = compare(file.path, {}, variants({parse_axis("name=a,b")}), kConfigs, {});
  REQUIRE(compared.size() == 2);
  CHECK(compared[0].summary.arrived == 300);
  CHECK(compared[0].summary.prompt_tokens == compared[1].summary.prompt_tokens);
  CHECK(compared[0].summary.makespan_s == compared[1].summary.makespan_s);
}

TEST_CASE("settings for all come before the settings of a variant") {
  const ScenarioFile file;
  const std::vector<std::string> sets{"workload.generate.requests=10", "seed=9"};
  const auto compared =
      compare(file.path, sets, variants({parse_axis("workload.generate.requests=20,30")}), kConfigs, {});
  CHECK(compared[0].summary.arrived == 20);
  CHECK(compared[1].summary.arrived == 30);
  CHECK(compared[0].summary.identity.seed == 9);
}

TEST_CASE("nothing runs when one variant is wrong, and what several share is told once") {
  const ScenarioFile file;
  const auto all = variants({parse_axis("kv_cache.strategy=paged,pagd,contigous")});
  int ran = 0;
  CompareControl control;
  control.finished = [&](const Variant&, const serving::RunResult&) { ++ran; };
  const std::vector<std::string> wrong_for_all{"engine.max_num_seqs=none"};
  try {
    static_cast<void>(compare(file.path, wrong_for_all, all, kConfigs, control));
    FAIL("a wrong variant was accepted");
  } catch (const InputError& error) {
    CHECK(error.diagnostics().size() == 3);
  }
  CHECK(ran == 0);
}

TEST_CASE("every finished variant is told once, with its records") {
  const ScenarioFile file;
  const auto all = variants({parse_axis("seed=1,2,3,4")});
  std::multiset<std::string> told;
  CompareControl control;
  control.jobs = 3;
  control.finished = [&](const Variant& variant, const serving::RunResult& result) {
    told.insert(variant.label);
    REQUIRE(result.collector.records().size() == 300);
  };
  static_cast<void>(compare(file.path, {}, all, kConfigs, control));
  CHECK(told == std::multiset<std::string>{"seed=1", "seed=2", "seed=3", "seed=4"});
}

TEST_CASE("once stopped, the variant under way is marked and the others are left out") {
  const ScenarioFile file;
  CompareControl control;
  control.go_on = [](const CompareProgress&) { return false; };
  const auto compared = compare(file.path, {}, variants({parse_axis("seed=1,2,3")}), kConfigs, control);
  REQUIRE(compared.size() == 1);
  CHECK(compared[0].summary.interrupted);
}

TEST_CASE("progress adds up over the variants and never falls") {
  const ScenarioFile file;
  CompareProgress last;
  CompareControl control;
  control.jobs = 2;
  control.go_on = [&](const CompareProgress& progress) {
    REQUIRE(progress.finished >= last.finished);
    REQUIRE(progress.simulated >= last.simulated);
    REQUIRE(progress.expected == 2 * 300);
    last = progress;
    return true;
  };
  static_cast<void>(compare(file.path, {}, variants({parse_axis("seed=1,2")}), kConfigs, control));
  CHECK(last.simulated > SimTime(0));
}

TEST_CASE("a variant that does not fit is left out and says why; the others run") {
  const ScenarioFile file;
  const auto all = variants({parse_axis("model=llama-3-8b,llama-3-70b"), parse_axis("kv_cache.budget=auto")});
  const auto compared = compare(file.path, {}, all, kConfigs, {});
  REQUIRE(compared.size() == 2);
  CHECK(compared[0].does_not_fit.empty());
  CHECK(compared[0].summary.arrived == 300);
  CHECK(compared[1].does_not_fit.find("llama-3-70b does not fit on 1 x a100-80gb-sxm") != std::string::npos);
  const std::string text = report::print_comparison(compared);
  CHECK(text.find("model=llama-3-70b, budget=auto does not fit") != std::string::npos);
  const auto json = nlohmann::json::parse(compared_text(compared));
  CHECK(json["variants"][0].contains("summary"));
  CHECK(json["variants"][1].contains("does_not_fit"));
  CHECK_FALSE(json["variants"][1].contains("summary"));
}

TEST_CASE("where no variant fits there is nothing to compare") {
  const ScenarioFile file;
  const std::vector<std::string> sets{"model=llama-3-70b", "kv_cache.budget=auto"};
  CHECK_THROWS_AS(compare(file.path, sets, variants({parse_axis("seed=1,2")}), kConfigs, {}), InputError);
}

TEST_CASE("a variant that is wrong stops all, though another one only does not fit") {
  const ScenarioFile file;
  const auto all = variants({parse_axis("model=llama-3-70b,lama-3-8b"), parse_axis("kv_cache.budget=auto")});
  CHECK_THROWS_AS(compare(file.path, {}, all, kConfigs, {}), InputError);
}
