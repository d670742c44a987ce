// Random workloads under every policy: the fast path decides what the general path decides, block by block.
#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <functional>

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

void paths_agree(const Record& header, const std::function<void(const std::string&)>& fail) {
  const Record walked = run_header(header, StepPath::general, kStepLimit);
  for (const StepPath path : {StepPath::fast, StepPath::sums}) {
    const ReplayResult result = replay(walked, path);
    if (result.difference) fail(header.header.dump() + "\n" + to_text(*result.difference, "random"));
  }
}

}  // namespace

TEST_CASE("a head that was refused comes in as soon as a running request publishes a block that it can share") {
  const Json header = Json::parse(R"({
    "format": "vllm-oracle-v1/1",
    "config": {"policy": "priority", "block_size": 2, "num_gpu_blocks": 25, "max_num_seqs": 3,
               "max_num_batched_tokens": 11, "max_model_len": 42, "long_prefill_token_threshold": 0,
               "enable_chunked_prefill": true, "enable_prefix_caching": true, "frontend_check": true,
               "scheduler_reserve_full_isl": true},
    "requests": [["r0", 0, 0, 0, 5, 1500000, [[0, 1], [1000000, 2]]],
                 ["r1", 1, 0, 1, 17, 2500000, [[0, 3], [2000000, 7]]],
                 ["r2", 1, 0, 1, 1, 3500000, [[0, 3], [2000000, 7], [2500000, 17], [3000000, 14]]]]})");
  paths_agree(read_header(header, "published"), [](const std::string& text) { FAIL(text); });
}

TEST_CASE("any workload: steps taken at once, on sums and by the walk are the same, block by block") {
  REQUIRE(rc::check(
      [] { paths_agree(read_header(random_header(), "random"), [](const std::string& text) { RC_FAIL(text); }); }));
}
