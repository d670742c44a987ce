// Replicas that share the experts of a mixture: the steps that they take together.
#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "sim/cost/host_time.h"
#include "sim/cost/roofline.h"
#include "tests/cost/calibrated_gpus.h"
#include "tests/model/published_models.h"

using namespace blockyard;
using namespace blockyard::cost;

namespace {

RooflineOptions replicas(std::int64_t data, bool whole_experts = false, bool eager = false) {
  RooflineOptions options;
  options.parallelism.data = data;
  options.parallelism.experts = whole_experts;
  if (eager) options.largest_graph = 0;
  return options;
}

std::unique_ptr<CostModel> mixtral_on(const RooflineOptions& options) {
  return make_roofline(model::mixtral_8x7b(), h100().gpu, h100().calibration, options);
}

StepWork decodes(std::int64_t sequences, std::int64_t context) {
  StepWork work;
  work.decode_sequences = work.sampled_sequences = sequences;
  work.decode_kv_tokens = sequences * context;
  return work;
}

StepWork random_work(const CostModel& cost) {
  StepWork work = decodes(*rc::gen::inRange<std::int64_t>(0, 300), *rc::gen::inRange<std::int64_t>(1, 4000));
  const int chunks = *rc::gen::inRange(0, 3);
  for (int i = 0; i < chunks; ++i)
    cost.add_chunk(work, Tokens(*rc::gen::inRange<std::int64_t>(1, 3000)),
                   Tokens(*rc::gen::inRange<std::int64_t>(0, 9000)));
  return work;
}

RooflineOptions random_replicas() {
  RooflineOptions options =
      replicas(*rc::gen::element(2, 4, 8), *rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>());
  options.parallelism.tensor = *rc::gen::element(1, 2);
  return options;
}

}  // namespace

TEST_CASE("a step together is no shorter than that of any replica alone, whichever has the work, and grows with it") {
  REQUIRE(rc::check([] {
    const RooflineOptions options = random_replicas();
    const auto cost = mixtral_on(options);
    std::vector<StepWork> works;
    for (std::int64_t i = 0; i < options.parallelism.data; ++i) works.push_back(random_work(*cost));
    const SimTime together = cost->joint_step(works);
    for (const StepWork& work : works) RC_ASSERT(together >= cost->step(work));
    std::ranges::rotate(works, works.begin() + 1);
    RC_ASSERT(cost->joint_step(works) == together);
    StepWork& first = works.front();
    cost->add_chunk(first, Tokens(*rc::gen::inRange<std::int64_t>(1, 500)), Tokens(0));
    RC_ASSERT(cost->joint_step(works) >= together);
  }));
}

TEST_CASE("with one replica busy a step together is the step of one") {
  REQUIRE(rc::check([] {
    const RooflineOptions options = random_replicas();
    const auto cost = with_host_time(mixtral_on(options), SimTime(*rc::gen::inRange(0, 1000)));
    std::vector<StepWork> works(static_cast<std::size_t>(options.parallelism.data));
    RC_ASSERT(cost->joint_step(works) == cost->empty_step());
    const StepWork work = random_work(*cost);
    works[*rc::gen::inRange<std::size_t>(0, works.size())] = work;
    RC_ASSERT(cost->joint_step(works) == cost->step(work));
  }));
}

TEST_CASE("CUDA graphs pad idle replicas to the largest; without graphs they compute a token") {
  const std::vector<StepWork> all(4, decodes(64, 500));
  const auto graphs = mixtral_on(replicas(4));
  CHECK(graphs->joint_step(all) == graphs->step(all[0]));
  const auto eager = mixtral_on(replicas(4, false, true));
  CHECK(eager->joint_step(all) > eager->step(all[0]));
}

TEST_CASE("tokens travel as the two halves of an all-reduce of all replicas' hidden states") {
  // 4 replicas of 64 decodes: 256 tokens x 4096 x 2 bytes are gathered and scattered in each of 32 layers, 3 / 4 of
  // them each way.
  const auto with_bandwidth = [](double bytes_per_s) {
    CalibratedGpu g = h100();
    g.calibration.all_reduce = {{4, {5e-6, bytes_per_s}}};
    return make_roofline(model::mixtral_8x7b(), g.gpu, g.calibration, replicas(4));
  };
  const std::vector<StepWork> all(4, decodes(64, 500));
  const double bytes = 2.0 * 3 / 4 * 256 * 4096 * 2 * 32;
  const SimTime longer = with_bandwidth(100e9)->joint_step(all) - with_bandwidth(200e9)->joint_step(all);
  CHECK(to_seconds(longer) == Approx(bytes / 100e9 - bytes / 200e9).epsilon(1e-4));
}

TEST_CASE("few tokens are decoded faster where replicas share the experts' weights, over links that cost nothing") {
  CalibratedGpu g = h100();
  g.calibration.all_reduce = {{2, {0, 1e18}}, {8, {0, 1e18}}};
  const auto time = [&](std::int64_t data, bool whole) {
    const auto cost = make_roofline(model::mixtral_8x7b(), g.gpu, g.calibration, replicas(data, whole));
    return cost->joint_step(std::vector<StepWork>(static_cast<std::size_t>(data), decodes(1, 100)));
  };
  // One replica reads 2 of the 8 experts of a layer; eight of them touch 8 (1 - (3/4)^8) = 7.2, an eighth of it each.
  const SimTime alone = time(1, false);
  CHECK(time(8, false) < alone);
  CHECK(time(8, true) < alone);
  const double expert_bytes = 3.0 * 4096 * 14336 * 2;
  const double fewer = 32 * expert_bytes * (2 - 7.2 / 8) / (0.88 * 3350e9);
  CHECK(to_seconds(alone - time(8, true)) == Approx(fewer).epsilon(0.02));
}

TEST_CASE("the report says that shared experts are timed by rule") {
  CHECK(mixtral_on(replicas(4))->provenance().find("experts in slices over the 4 GPUs of 4 replicas") !=
        std::string::npos);
  CHECK(mixtral_on(replicas(4, true))->provenance().find("experts whole over the 4 GPUs") != std::string::npos);
}
