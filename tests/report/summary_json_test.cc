#include "sim/report/summary_json.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include "tests/report/example_summary.h"

namespace blockyard::report {
namespace {

using nlohmann::ordered_json;

TEST_CASE("every documented key is there, with the figure that it names") {
  const ordered_json j = summary_json(example_summary());
  CHECK(j.at("schema") == "blockyard.summary/1");
  CHECK(j.at("interrupted") == false);
  CHECK(j.at("stuck").is_null());
  const auto is = [&](const char* pointer, const ordered_json& expected) {
    INFO(pointer);
    CHECK(j.at(ordered_json::json_pointer(pointer)) == expected);
  };
  is("/identity/scenario", "chat-on-a100");
  is("/identity/seed", 7);
  is("/identity/model", "llama-3-8b");
  is("/identity/gpu", "a100-80gb-sxm");
  is("/identity/gpus", 2);
  is("/identity/notes/0", "trace: 3 rows of zero length dropped");
  is("/identity/provenance/0", "roofline, constants of a100-80gb-sxm: whole-layer times within 6 % (MAPE)");
  is("/warnings/0", "p99 of fewer than 100 values lies between the two largest and says little: stall_s 8");
  is("/requests/arrived", 19'366);
  is("/requests/finished", 19'300);
  is("/requests/rejected", 41);
  is("/requests/timed_out", 5);
  is("/requests/unfinished", 20);
  is("/requests/rejected_by_reason/prompt_too_long", 1);
  is("/requests/rejected_by_reason/never_fits", 0);
  is("/requests/rejected_by_reason/queue_full", 40);
  is("/tokens/prompt", 22'361'001);
  is("/tokens/output", 4'087'100);
  is("/tokens/computed", 26'440'000);
  is("/tokens/recomputed", 12'345);
  is("/prefix_cache/hit_tokens", 320);
  is("/prefix_cache/hit_ratio", 0.75);
  is("/makespan_s", 3'512.25);
  is("/steps", 181'233);
  is("/latency/admission_s/mean", 0.0123456);
  is("/latency/ttft_s/p50", 0.125);
  is("/time_ledger/queue_kv_memory_head_s/p99", 8.25);
  is("/time_ledger/decode_own_s/share", 0.8);
  is("/time_ledger/groups/queue_s/mean", 1.1);
  is("/time_ledger/timed_out/requests", 5);
  is("/time_ledger/timed_out/queue_seat_behind_s/mean", 29.97);
  is("/time_ledger/timed_out/groups/queue_s/share", 0.999);
  is("/latency/tpot_s/p90", 0.0312);
  is("/latency/itl_s/p99", 0.05);
  is("/latency/e2e_s/max", 42.0);
  is("/latency/e2e_s/count", 19'300);
  is("/latency/e2e_per_output_token_s/mean", 0.03);
  is("/throughput/requests_per_s", 5.495053);
  is("/throughput/output_tokens_per_s", 1163.67);
  is("/goodput/slo/ttft_s", 1.0);
  is("/goodput/slo/tpot_s", 0.05);
  is("/goodput/slo/e2e_s", nullptr);
  is("/goodput/good_requests", 18'000);
  is("/goodput/misses/ttft/requests", 1'000);
  is("/goodput/misses/tpot/alone", 300);
  is("/goodput/misses/e2e", nullptr);
  is("/goodput/misses/not_finished", 66);
  is("/goodput/requests_per_s", 5.12492);
  is("/preemption/count", 12);
  is("/preemption/requests", 8);
  is("/preemption/total_stall_s", 3.5);
  is("/preemption/stall_s/p99", 0.9375);
  is("/swap/out_bytes", 5'000);
  is("/swap/in_bytes", 4'000);
  is("/swap/out_blocks", 5);
  is("/swap/by_cause/victim/out_bytes", 4'000);
  is("/swap/by_cause/tail/in_blocks", 1);
  is("/swap/by_cause/more/out_bytes", 0);
  is("/swap/link/out_busy_share", 0.25);
  is("/swap/link/out_busy_peak_share", 0.625);
  is("/swap/link/in_busy_peak_share", 0.5);
  is("/swap/link/peak_interval_s", 1.0);
  is("/swap/link/engine_waited_s", 0.4375);
  is("/swap/host/capacity_bytes", 8'000);
  is("/swap/host/live/peak_share", 0.625);
  is("/swap/host/free/mean_share", 0.875);
  is("/preemption/by_mode/recompute", 10);
  is("/preemption/by_mode/swap", 2);
  is("/preemption/stalls/count", 10);
  is("/preemption/stalls/restoring_s", 2.25);
  is("/preemption/stalls/each_s/p90", 0.625);
  is("/token_gaps/threshold_s", 0.25);
  is("/token_gaps/over_threshold", 17);
  is("/memory/capacity_bytes", 60LL << 30);
  is("/memory/live/mean_share", 0.5);
  is("/memory/free/peak_share", 1.0);
  is("/memory/largest_free/mean_share", 0.25);
  is("/memory/largest_free/min_share", 0.0625);
  is("/memory/refused_although_free", 1'234);
  is("/batch/mean_running", 30.25);
  is("/batch/max_running", 64);
  is("/batch/mean_waiting", 0.0678);
  is("/batch/max_waiting", 11);
  for (const char* state : kMemoryStateNames) {
    CHECK(j["memory"].at(state).at("mean_share").is_number());
    CHECK(j["memory"].at(state).at("peak_share").is_number());
  }
  for (const char* latency : {"admission_s", "ttft_s", "tpot_s", "itl_s", "e2e_s", "e2e_per_output_token_s"}) {
    for (const char* statistic : {"count", "mean", "p50", "p90", "p99", "max"}) {
      CHECK(j["latency"].at(latency).at(statistic).is_number());
    }
  }
}

TEST_CASE("tiers below the GPU have their traffic in bytes, and their share of what was looked up") {
  metrics::Summary s = example_summary();
  metrics::PrefixCacheWork work;
  work.block = Bytes(1000);
  TierLedger host;
  host.name = "host";
  host.capacity_blocks = 40;
  host.used_blocks = 30;
  host.hit_tokens = s.prefix_cache.looked_up_tokens / 4;
  host.read_blocks = 7;
  host.written_blocks = 9;
  work.ledger.tiers.push_back(host);
  work.ledger.computed_instead_tokens = 64;
  work.tier_links.push_back({0.5, 0.25});
  s.prefix_cache_work = work;
  const ordered_json j = summary_json(s).at("prefix_cache");
  const ordered_json& tier = j.at("tiers").at(0);
  CHECK(tier.at("name") == "host");
  CHECK(tier.at("capacity_bytes") == 40'000);
  CHECK(tier.at("used_bytes") == 30'000);
  CHECK(tier.at("hit_ratio") == 0.25);
  CHECK(tier.at("read_bytes") == 7'000);
  CHECK(tier.at("written_bytes") == 9'000);
  CHECK(tier.at("link").at("out_busy_share") == 0.5);
  CHECK(j.at("computed_instead_tokens") == 64);
}

TEST_CASE("sums hold in the file: requests, reasons, shares") {
  const ordered_json j = summary_json(example_summary());
  const auto& r = j["requests"];
  CHECK(r["arrived"].get<int>() ==
        r["finished"].get<int>() + r["rejected"].get<int>() + r["timed_out"].get<int>() + r["unfinished"].get<int>());
  int reasons = 0;
  for (const auto& count : r["rejected_by_reason"]) reasons += count.get<int>();
  CHECK(reasons == r["rejected"].get<int>());
  double shares = 0;
  for (const char* state : kMemoryStateNames) shares += j["memory"][state]["mean_share"].get<double>();
  CHECK(shares == Approx(1).epsilon(1e-12));
}

TEST_CASE("a figure without a sample is null, and goodput is there only with an slo") {
  const ordered_json j = summary_json(metrics::Summary{});
  for (const char* latency : {"admission_s", "ttft_s", "tpot_s", "itl_s", "e2e_s"}) {
    CHECK(j["latency"][latency]["count"] == 0);
    for (const char* statistic : {"mean", "p50", "p90", "p99", "max"}) {
      CHECK(j["latency"][latency].at(statistic).is_null());
    }
  }
  CHECK(j.at("prefix_cache").at("hit_ratio").is_null());
  CHECK_FALSE(j.contains("goodput"));
}

TEST_CASE("an early end is marked") {
  metrics::Summary s;
  s.interrupted = true;
  s.stuck = "no progress for 10 steps";
  const ordered_json j = summary_json(s);
  CHECK(j["interrupted"] == true);
  CHECK(j["stuck"] == "no progress for 10 steps");
}

TEST_CASE("numbers read back to the same double") {
  REQUIRE(rc::check("any double", [](double value) {
    metrics::Summary s;
    s.makespan_s = value;
    RC_ASSERT(ordered_json::parse(json_text(summary_json(s)))["makespan_s"].get<double>() == value);
  }));
}

TEST_CASE("keys keep their order, and the text ends in a newline") {
  const std::string text = json_text(summary_json(example_summary()));
  CHECK(text == json_text(summary_json(example_summary())));
  CHECK(text.starts_with("{\n  \"schema\": \"blockyard.summary/1\",\n"));
  CHECK(text.ends_with("}\n"));
  CHECK(ordered_json::parse(text) == summary_json(example_summary()));
}

TEST_CASE("a name that is no UTF-8 does not keep the summary from being written") {
  metrics::Summary s;
  s.identity.scenario = "caf\xE9";
  CHECK(ordered_json::parse(json_text(summary_json(s)))["identity"]["scenario"] == "caf\xEF\xBF\xBD");
}

}  // namespace
}  // namespace blockyard::report
