#include "sim/report/summary_json.h"

#include <optional>

#include "sim/report/groups_json.h"
#include "sim/report/replicas.h"

namespace blockyard::report {
namespace {

using nlohmann::ordered_json;

ordered_json requests_json(const metrics::Summary& s) {
  ordered_json j;
  j["arrived"] = s.arrived;
  j["finished"] = s.finished;
  j["rejected"] = s.rejected;
  j["timed_out"] = s.timed_out;
  j["unfinished"] = s.unfinished;
  ordered_json& reasons = j["rejected_by_reason"] = ordered_json::object();
  for (std::size_t i = 1; i < metrics::kRejectReasons; ++i) {
    reasons[metrics::name_of(static_cast<metrics::RejectReason>(i))] = s.rejected_by_reason[i];
  }
  return j;
}

ordered_json goodput_json(const metrics::Summary& s) {
  ordered_json j;
  j["slo"] = slo_json(s.slo);
  j["good_requests"] = *s.good_requests;
  j["good_share"] = number_or_null(s.good_share());
  j["requests_per_s"] = number_or_null(s.goodput_requests_per_s);
  if (s.misses) j["misses"] = misses_json(s.slo, *s.misses);
  return j;
}

ordered_json time_json(const metrics::TimeUses& time) {
  const auto use = [](const metrics::TimeUse& u) {
    return ordered_json{{"mean", u.mean_s}, {"p99", u.p99_s}, {"share", u.share}};
  };
  ordered_json j = ordered_json::object();
  for (std::size_t i = 0; i < metrics::kTimeBuckets; ++i) {
    j[std::string(metrics::kTimeBucketNames[i]) + "_s"] = use(time.buckets[i]);
  }
  ordered_json& groups = j["groups"] = ordered_json::object();
  for (std::size_t g = 0; g < metrics::kTimeGroups.size(); ++g) {
    groups[std::string(metrics::kTimeGroups[g].name) + "_s"] = use(time.groups[g]);
  }
  return j;
}

ordered_json memory_json(const metrics::Summary& s) {
  ordered_json j;
  j["capacity_bytes"] = s.capacity.count();
  for (std::size_t i = 0; i < kMemoryStates; ++i) {
    j[kMemoryStateNames[i]] = {{"mean_share", s.memory[i].mean_share}, {"peak_share", s.memory[i].peak_share}};
  }
  j["largest_free"] = {{"mean_share", s.largest_free_mean_share}, {"min_share", s.largest_free_min_share}};
  j["refused_although_free"] = s.refused_although_free;
  if (s.shared_blocks_saved) j["shared_blocks_saved_share"] = *s.shared_blocks_saved;
  j["work"] = {{"copied_bytes", s.memory_work.copied.count()},
               {"compactions", s.memory_work.compactions},
               {"pages_mapped", s.memory_work.pages_mapped},
               {"pages_unmapped", s.memory_work.pages_unmapped},
               {"time_s", to_seconds(s.memory_work.time)}};
  return j;
}

ordered_json stalls_json(const metrics::Summary& s) {
  ordered_json j;
  j["count"] = s.each_stall.count;
  j["each_s"] = distribution_json(s.each_stall);
  j["waiting_s"] = s.stall_waiting_s;
  j["restoring_s"] = s.stall_restoring_s;
  j["per_1000_output_tokens"] = number_or_null(s.stalls_per_1000_output_tokens());
  return j;
}

void add_traffic(ordered_json& j, const metrics::SwapTraffic& traffic) {
  j["out_bytes"] = traffic.out_bytes.count();
  j["in_bytes"] = traffic.in_bytes.count();
  j["out_blocks"] = traffic.out_blocks.count();
  j["in_blocks"] = traffic.in_blocks.count();
}

ordered_json swap_json(const metrics::SwapUse& swap) {
  ordered_json j;
  add_traffic(j, swap.total());
  ordered_json& causes = j["by_cause"] = ordered_json::object();
  for (std::size_t i = 0; i < kSwapCauses; ++i) {
    add_traffic(causes[kSwapCauseNames[i]] = ordered_json::object(), swap.by_cause[i]);
  }
  using Busy = metrics::SwapUse::Busy;
  const auto share = [](const std::optional<Busy>& busy, double Busy::* which) {
    return busy ? ordered_json((*busy).*which) : ordered_json(nullptr);
  };
  j["link"] = {{"out_busy_share", share(swap.out_busy, &Busy::mean_share)},
               {"in_busy_share", share(swap.in_busy, &Busy::mean_share)},
               {"out_busy_peak_share", share(swap.out_busy, &Busy::peak_share)},
               {"in_busy_peak_share", share(swap.in_busy, &Busy::peak_share)},
               {"peak_interval_s", swap.out_busy ? ordered_json(swap.peak_interval_s) : ordered_json(nullptr)},
               {"engine_waited_s", swap.engine_waited_s}};
  const bool pool = swap.host_capacity > Bytes(0);
  const double live = swap.host_live_mean_share;
  const double peak = swap.host_live_peak_share;
  j["host"] = {{"capacity_bytes", swap.host_capacity.count()},
               {"live", {{"mean_share", live}, {"peak_share", peak}}},
               {"free", {{"mean_share", pool ? 1 - live : 0}, {"min_share", pool ? 1 - peak : 0}}}};
  return j;
}

ordered_json pipeline_json(const metrics::PipelineUse& p) {
  ordered_json j;
  j["stages"] = p.stages;
  j["under_way_s"] = to_seconds(p.under_way);
  const auto part = [&](const char* name, SimTime time) {
    j[name] = {{"time_s", to_seconds(time)}, {"share", number_or_null(p.share(time))}};
  };
  part("computing", p.computing);
  part("sending", p.sending);
  part("bubble", p.bubble());
  return j;
}

ordered_json identity_json(const metrics::Identity& identity) {
  ordered_json j;
  j["scenario"] = identity.scenario;
  j["seed"] = identity.seed;
  j["model"] = identity.model;
  j["gpu"] = identity.gpu;
  j["gpus"] = identity.gpus;
  j["provenance"] = identity.provenance;
  j["notes"] = identity.notes;
  return j;
}

ordered_json tiers_json(const metrics::Summary& s, const metrics::PrefixCacheWork& work) {
  ordered_json tiers = ordered_json::array();
  for (std::size_t i = 0; i < work.ledger.tiers.size(); ++i) {
    const TierLedger& tier = work.ledger.tiers[i];
    const auto bytes = [&](std::int64_t blocks) { return blocks * work.block.count(); };
    const std::int64_t looked_up = s.prefix_cache.looked_up_tokens;
    ordered_json j{{"name", tier.name},
                   {"capacity_bytes", bytes(tier.capacity_blocks)},
                   {"used_bytes", bytes(tier.used_blocks)},
                   {"hit_tokens", tier.hit_tokens},
                   {"hit_ratio", looked_up == 0 ? ordered_json() : ordered_json(tier.hit_share(looked_up))},
                   {"read_bytes", bytes(tier.read_blocks)},
                   {"prefetched_bytes", bytes(tier.prefetched_blocks)},
                   {"written_bytes", bytes(tier.written_blocks)},
                   {"evicted_blocks", tier.evicted_blocks}};
    if (i < work.tier_links.size()) {
      j["link"] = {{"out_busy_share", work.tier_links[i].out_busy_share},
                   {"in_busy_share", work.tier_links[i].in_busy_share}};
    }
    tiers.push_back(std::move(j));
  }
  return tiers;
}

void add_cache_work(const metrics::Summary& s, ordered_json& j) {
  const metrics::PrefixCacheWork& work = *s.prefix_cache_work;
  j["eviction"] = s.identity.eviction;
  for (std::size_t i = 0; i < kHitCauses; ++i) j["hit_tokens_by_cause"][kHitCauseNames[i]] = work.ledger.hit_tokens[i];
  j["requests"] = work.ledger.requests;
  j["requests_hit"] = work.ledger.requests_hit;
  j["request_hit_ratio"] = number_or_null(work.requests_hit());
  j["saved_prefill_s"] = work.saved_prefill_s;
  j["evicted_blocks"] = work.ledger.evicted_blocks;
  j["stranded_share"] = number_or_null(work.stranded_share());
  if (!work.ledger.tiers.empty()) {
    j["tiers"] = tiers_json(s, work);
    j["computed_instead_tokens"] = work.ledger.computed_instead_tokens;
    j["waited_for_writes_s"] = to_seconds(work.ledger.waited_for_writes);
  }
  if (work.regret) {
    j["regret"] = {{"hit_tokens", work.regret->hit_tokens}, {"saved_prefill_s", work.regret->saved_prefill_s}};
  }
}

}  // namespace

ordered_json summary_json(const metrics::Summary& s) {
  ordered_json j;
  j["schema"] = kSummarySchema;
  j["identity"] = identity_json(s.identity);
  j["interrupted"] = s.interrupted;
  j["stuck"] = s.stuck.empty() ? ordered_json(nullptr) : ordered_json(s.stuck);
  j["warnings"] = s.warnings;
  j["requests"] = requests_json(s);
  j["tokens"] = {{"prompt", s.prompt_tokens},
                 {"output", s.output_tokens},
                 {"computed", s.computed_tokens},
                 {"recomputed", s.recomputed_tokens},
                 {"recomputed_share", number_or_null(s.recomputed_share())}};
  const metrics::PrefixCacheUse& prefix = s.prefix_cache;
  j["prefix_cache"] = {{"looked_up_tokens", prefix.looked_up_tokens},
                       {"hit_tokens", prefix.hit_tokens},
                       {"looked_up_tokens_resumed", prefix.looked_up_tokens_resumed},
                       {"hit_tokens_resumed", prefix.hit_tokens_resumed},
                       {"hit_ratio", number_or_null(prefix.hit_ratio())}};
  if (s.prefix_cache_work) add_cache_work(s, j["prefix_cache"]);
  if (s.window) {
    j["window"] = {{"from_s", s.window->from_s},
                   {"to_s", s.window->to_s},
                   {"arrived", s.window->arrived},
                   {"finished", s.window->finished}};
  }
  j["makespan_s"] = s.makespan_s;
  j["steps"] = s.steps;
  if (!s.replicas.empty()) j["replicas"] = replicas_json(s);
  if (s.pipeline.stages > 1) j["pipeline"] = pipeline_json(s.pipeline);
  j["latency"] = {{"admission_s", distribution_json(s.admission)},
                  {"ttft_s", distribution_json(s.ttft)},
                  {"tpot_s", distribution_json(s.tpot)},
                  {"itl_s", distribution_json(s.itl)},
                  {"e2e_s", distribution_json(s.e2e)},
                  {"e2e_per_output_token_s", distribution_json(s.e2e_per_output_token)}};
  j["time_ledger"] = time_json(s.time);
  if (s.time_timed_out.requests > 0) {
    ordered_json& timed_out = j["time_ledger"]["timed_out"] = time_json(s.time_timed_out);
    timed_out["requests"] = s.time_timed_out.requests;
  }
  j["throughput"] = {{"requests_per_s", s.requests_per_s}, {"output_tokens_per_s", s.output_tokens_per_s}};
  if (s.good_requests) j["goodput"] = goodput_json(s);
  add_groups(s, j);
  j["token_gaps"] = {{"threshold_s", to_seconds(s.gap_threshold)}, {"over_threshold", s.gaps_over_threshold}};
  j["preemption"] = {
      {"count", s.preemptions},
      {"by_mode", {{"recompute", s.preemptions - s.preemptions_by_swap}, {"swap", s.preemptions_by_swap}}},
      {"requests", s.preempted_requests},
      {"total_stall_s", s.total_stall_s},
      {"stall_s", distribution_json(s.stall)},
      {"stalls", stalls_json(s)}};
  j["swap"] = swap_json(s.swap);
  j["memory"] = memory_json(s);
  j["batch"] = {{"mean_running", s.mean_running},
                {"max_running", s.max_running},
                {"mean_waiting", s.mean_waiting},
                {"max_waiting", s.max_waiting}};
  return j;
}

std::string json_text(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace blockyard::report
