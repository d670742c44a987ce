// What of the PagedAttention paper's figures follows from lengths and allocation alone, within the tolerances that hold
// for one seed and fewer requests than configs/paper/figures.py runs. Published values: Kwon et al., SOSP 2023.
#include <catch2/catch.hpp>

#include "tests/serving/laws.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

metrics::Summary run_figure(const char* file, const Sets& sets) {
  const scenario::Document scenario = scenario::load(config_folder() / "paper" / file, schema(), sets);
  const serving::RunResult result = serving::run(scenario, config_folder());
  REQUIRE(broken_laws(result, scenario) == std::vector<std::string>{});
  return result.summary;
}

double percent(const metrics::Summary& s, std::initializer_list<MemoryState> states) {
  double sum = 0;
  for (const MemoryState state : states) sum += 100 * share(s, state).mean_share;
  return sum;
}

const char* const kFewer = "workload.generate.requests=3000";
// A saturated engine from its first moment to nearly its last, as in the paper's hour.
const char* const kBacklog = "workload.generate.arrivals.rate=1000 req/s";

}  // namespace

TEST_CASE("figures 2 and 13: what Orca's reservations do with the memory, and how many run") {
  struct Column {
    const char* reservation;
    double live, reserved, internal, external, running;
  };
  for (const Column& column :
       {Column{"max_model_len", 20.4, 13.3, 57.3, 8.9, 7.00}, Column{"pow2", 26.8, 17.9, 13.6, 41.6, 9.81},
        Column{"oracle", 38.2, 25.2, 0, 36.6, 13.62}}) {
    CAPTURE(column.reservation);
    const metrics::Summary s =
        run_figure("fig2.yaml", {kFewer, kBacklog, fmt::format("kv_cache.reservation={}", column.reservation)});
    CHECK(percent(s, {MemoryState::live}) == Approx(column.live).margin(3));
    CHECK(percent(s, {MemoryState::reserved}) == Approx(column.reserved).margin(3));
    CHECK(percent(s, {MemoryState::over_reserved, MemoryState::tail}) == Approx(column.internal).margin(3));
    CHECK(percent(s, {MemoryState::padding, MemoryState::external, MemoryState::free}) ==
          Approx(column.external).margin(4));
    CHECK(s.mean_running == Approx(column.running).epsilon(0.06));
  }
}

TEST_CASE("figures 2, 12 and 13: blocks under a backlog, and what they complete a second") {
  const metrics::Summary paged = run_figure("fig12a.yaml", {kFewer});
  CHECK(percent(paged, {MemoryState::live}) == Approx(96.3).margin(2));
  CHECK(paged.mean_running == Approx(30.42).epsilon(0.15));

  const auto orca = [](const char* reservation) {
    return run_figure("fig12a.yaml", {kFewer, "engine.scheduler=orca", "kv_cache.strategy=contiguous",
                                      fmt::format("kv_cache.reservation={}", reservation)})
        .requests_per_s;
  };
  const double over_oracle = paged.requests_per_s / orca("oracle");
  CHECK(over_oracle > 1.7);
  CHECK(over_oracle < 2.7);
  const double over_max = paged.requests_per_s / orca("max_model_len");
  CHECK(over_max > 2.7);
  CHECK(over_max < 8);
}

TEST_CASE("figure 15: what parallel samples and beams save") {
  const auto saved = [](int n, const char* decoding) {
    const metrics::Summary s =
        run_figure("fig15.yaml", {"workload.generate.requests=1000", fmt::format("workload.n={}", n),
                                  fmt::format("workload.decoding={}", decoding)});
    REQUIRE(s.shared_blocks_saved);
    return 100 * *s.shared_blocks_saved;
  };
  double last = 0;
  for (const int n : {2, 4, 6}) {
    const double samples = saved(n, "sample");
    CHECK(samples > 16.2 - 3);
    CHECK(samples < 30.5 + 3);
    CHECK(samples > last);
    last = samples;
    // No more can be shared than all but one of n.
    const double beams = saved(n, "beam_search");
    CHECK(beams > samples);
    CHECK(beams < 100.0 * (n - 1) / n);
  }
}
