// Every law on random scenarios, and: neither the way a run is computed nor who watches it changes a byte of what comes
// out.
#include "tests/serving/laws.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "tests/serving/random_scenario.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

const serving::RunControl kWithSeries{.go_on = {}, .time_series = true};

void classify(const metrics::Summary& s) {
  RC_CLASSIFY(s.preemptions > 0, "preempts");
  RC_CLASSIFY(s.swapped_out > Bytes(0), "swaps");
  RC_CLASSIFY(s.rejected > 0, "rejects");
  RC_CLASSIFY(s.timed_out > 0, "clients leave");
  RC_CLASSIFY(!s.stuck.empty(), "stuck");
  RC_CLASSIFY(s.refused_although_free > 0, "refuses although free");
  RC_CLASSIFY(s.prefix_cache.hit_tokens > 0, "hits the prefix cache");
  RC_CLASSIFY(s.shared_blocks_saved.value_or(0) > 0, "shares blocks between samples");
}

}  // namespace

TEST_CASE("whatever is run, the laws hold") {
  REQUIRE(rc::check([] {
    const RandomScenario scenario = random_scenario();
    INFO(scenario.yaml);
    RC_LOG() << scenario.yaml;
    const scenario::Document document = parsed(scenario.yaml);
    const serving::RunResult result = serving::run(document, config_folder(), kWithSeries);
    classify(result.summary);
    RC_ASSERT(broken_laws(result, document) == std::vector<std::string>{});
  }));
}

TEST_CASE("fast-forward, repetition and observation change no byte of the output") {
  REQUIRE(rc::check([] {
    const RandomScenario scenario = random_scenario();
    INFO(scenario.yaml);
    RC_LOG() << scenario.yaml;
    const Files files = files_of(run(scenario.yaml, {}, kWithSeries));
    const Files walked = files_of(run(scenario.yaml, {"engine.fast_forward=false"}, kWithSeries));
    RC_ASSERT(walked.requests == files.requests);
    RC_ASSERT(walked.summary == files.summary);
    RC_ASSERT(walked.time_series == files.time_series);
    RC_ASSERT(files_of(run(scenario.yaml, {}, kWithSeries)) == files);

    RC_ASSERT(files_of(run(scenario.yaml)).summary == files.summary);
  }));
}
