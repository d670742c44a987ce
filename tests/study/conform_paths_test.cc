// Random workloads under every policy: the fast path decides what the general path decides, block by block.
#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "sim/study/conform/replay.h"

using namespace blockyard::study;

namespace {

constexpr std::int64_t kStepLimit = 1500;

template <class T>
T choice(std::initializer_list<T> values) {
  return *rc::gen::elementOf(std::vector<T>(values));
}

// Prompts begin with one of a few shared texts; some repeat an earlier request's prompt and answer and go on.
Json random_requests(std::int64_t longest) {
  const auto count = *rc::gen::inRange<std::int64_t>(1, 40);
  Json requests = Json::array();
  std::int64_t arrival = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    arrival += *rc::gen::inRange(0, 4);
    Json runs = Json::array();
    const std::int64_t own = 1'000'000 * (i + 1);
    if (i > 0 && *rc::gen::inRange(0, 3) == 0) {
      const Json& earlier = requests[static_cast<std::size_t>(*rc::gen::inRange<std::int64_t>(0, i))];
      runs = earlier[6];
      runs.push_back({earlier[5], earlier[4]});
    } else {
      runs.push_back({1000 * *rc::gen::inRange(0, 3), *rc::gen::inRange(1, 30)});
    }
    runs.push_back({own, *rc::gen::inRange<std::int64_t>(1, longest / 2)});
    std::string id = std::to_string(10'000 + i);
    requests.push_back({id, arrival, *rc::gen::inRange(0, 3), arrival, *rc::gen::inRange(1, 40), own + 500'000, runs});
  }
  return requests;
}

Json random_aborts(std::size_t requests) {
  Json aborts = Json::array();
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    aborts.push_back({*rc::gen::inRange(0, 60), *rc::gen::inRange<std::size_t>(0, requests)});
  }
  return aborts;
}

Json random_header() {
  const auto longest = *rc::gen::inRange<std::int64_t>(16, 120);
  const bool chunked = *rc::gen::arbitrary<bool>();
  Json config{{"policy", choice({"fcfs", "priority"})},
              {"block_size", choice({1, 2, 4, 8, 16})},
              {"num_gpu_blocks", *rc::gen::inRange(2, 60)},
              {"max_num_seqs", *rc::gen::inRange(1, 12)},
              {"max_num_batched_tokens", chunked ? *rc::gen::inRange<std::int64_t>(1, 100) : longest},
              {"max_model_len", longest},
              {"long_prefill_token_threshold", choice({0, 0, 5, 17})},
              {"enable_chunked_prefill", chunked},
              {"enable_prefix_caching", *rc::gen::arbitrary<bool>()},
              {"frontend_check", true},
              {"scheduler_reserve_full_isl", *rc::gen::arbitrary<bool>()}};
  Json requests = random_requests(longest);
  Json aborts = random_aborts(requests.size());
  return {{"format", "vllm-oracle-v1/1"}, {"config", config}, {"requests", requests}, {"aborts", aborts}};
}

}  // namespace

TEST_CASE("any workload: steps taken at once, on sums and by the walk are the same, block by block") {
  REQUIRE(rc::check([] {
    const Record header = read_header(random_header(), "random");
    const Record walked = run_header(header, StepPath::general, kStepLimit);
    for (const StepPath path : {StepPath::fast, StepPath::sums}) {
      const ReplayResult result = replay(walked, path);
      if (result.difference) RC_FAIL(header.header.dump() + "\n" + to_text(*result.difference, "random"));
    }
  }));
}
