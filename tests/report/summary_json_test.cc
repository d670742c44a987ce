#include "sim/report/summary_json.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/report/comparison.h"
#include "tests/report/example_summary.h"

using namespace blockyard;
using namespace blockyard::report;
using nlohmann::ordered_json;

namespace {

bool has(const ordered_json& json, const std::string& path) { return json.contains(ordered_json::json_pointer(path)); }

}  // namespace

TEST_CASE("every documented key is there") {
  const ordered_json j = summary_json(example_summary());
  CHECK(j["schema"] == "blockyard.summary/1");
  for (const char* key : {"arrived", "finished", "rejected", "timed_out", "unfinished"}) {
    CHECK(has(j, std::string("/requests/") + key));
  }
  for (const char* key : {"prompt", "output", "computed", "recomputed"}) CHECK(has(j, std::string("/tokens/") + key));
  CHECK(has(j, "/makespan_s"));
  CHECK(has(j, "/steps"));
  for (const char* metric : {"admission_s", "ttft_s", "tpot_s", "itl_s", "e2e_s"}) {
    for (const char* key : {"count", "mean", "p50", "p90", "p99", "max"}) {
      CHECK(has(j, std::string("/latency/") + metric + "/" + key));
    }
  }
  for (const char* key : {"requests_per_s", "output_tokens_per_s"}) CHECK(has(j, std::string("/throughput/") + key));
  for (const char* key : {"count", "requests", "total_stall_s", "stall_s"})
    CHECK(has(j, std::string("/preemption/") + key));
  for (const char* key : {"out_bytes", "in_bytes"}) CHECK(has(j, std::string("/swap/") + key));
  CHECK(has(j, "/memory/capacity_bytes"));
  for (const char* state : kMemoryStateNames) {
    for (const char* key : {"mean_share", "peak_share"}) CHECK(has(j, std::string("/memory/") + state + "/" + key));
  }
  for (const char* key : {"mean_running", "max_running"}) CHECK(has(j, std::string("/batch/") + key));
}

TEST_CASE("numbers read back to the same value, and a figure without a sample is null") {
  metrics::Summary s = example_summary();
  s.tpot = {};
  const ordered_json j = ordered_json::parse(json_text(summary_json(s)));
  CHECK(j["latency"]["ttft_s"]["mean"].get<double>() == *s.ttft.mean_s);
  CHECK(j["latency"]["tpot_s"]["mean"].is_null());
  CHECK(j["throughput"]["output_tokens_per_s"].get<double>() == s.output_tokens_per_s);
  CHECK(j["memory"]["capacity_bytes"].get<std::int64_t>() == s.capacity.count());
  double mean_shares = 0;
  for (const char* state : kMemoryStateNames) mean_shares += j["memory"][state]["mean_share"].get<double>();
  CHECK(mean_shares == Approx(1));
}

TEST_CASE("goodput is there only with limits to meet") {
  metrics::Summary s = example_summary();
  CHECK(has(summary_json(s), "/goodput/requests_per_s"));
  s.good_requests.reset();
  CHECK_FALSE(has(summary_json(s), "/goodput"));
}

TEST_CASE("a comparison holds each variant's whole summary under its label") {
  const ordered_json j =
      comparison_json({{"strategy=paged", example_summary()}, {"strategy=contiguous", example_summary()}});
  REQUIRE(j["variants"].size() == 2);
  CHECK(j["variants"][1]["label"] == "strategy=contiguous");
  CHECK(j["variants"][1]["summary"] == summary_json(example_summary()));
}
