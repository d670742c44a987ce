#include "sim/report/comparison_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/report/definitions.h"

namespace blockyard::report {
namespace {

using metrics::Distribution;
using metrics::Summary;

using Rows = std::vector<ComparisonRow>;

// "other_request" -> "other request"
std::string words_of(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

void add_count(Rows& rows, const char* group, const char* name, std::int64_t Summary::* member, bool ratio) {
  rows.push_back({group, name, Figure::count, "", ratio, Show::always,
                  [member](const Summary& s) { return static_cast<double>(s.*member); }});
}

void add_number(Rows& rows, const char* group, const char* name, const char* unit, double Summary::* member) {
  rows.push_back(
      {group, name, Figure::number, unit, true, Show::always, [member](const Summary& s) { return s.*member; }});
}

void add_bytes(Rows& rows, const char* group, const char* name, Bytes Summary::* member, Show show) {
  rows.push_back({group, name, Figure::bytes, "", true, show,
                  [member](const Summary& s) { return static_cast<double>((s.*member).count()); }});
}

void add_times(Rows& rows, const char* group, const std::string& name, Distribution Summary::* member, Show show) {
  using Statistic = std::optional<Seconds> Distribution::*;
  for (const auto& [label, statistic] : {std::pair<const char*, Statistic>{" mean", &Distribution::mean_s},
                                         {" p50", &Distribution::p50_s},
                                         {" p99", &Distribution::p99_s}}) {
    rows.push_back({group, name + label, Figure::time, "", true, show,
                    [member, of = statistic](const Summary& s) { return s.*member.*of; }, member});
  }
}

// Means over finished requests; those of the rows that stand furthest to the left add up to that of E2E.
void add_time_went(Rows& rows) {
  using metrics::TimeBucket;
  const auto add = [&](const std::string& name, auto of) {
    rows.push_back({kTimeWentGroup, name, Figure::time, "", true, Show::if_not_zero,
                    [of](const Summary& s) -> std::optional<double> {
                      if (s.time.requests == 0) return std::nullopt;
                      return of(s.time);
                    }});
  };
  const auto add_bucket = [&](const std::string& name, TimeBucket bucket) {
    add(name, [bucket](const metrics::TimeUses& t) { return t[bucket].mean_s; });
  };
  const auto add_queue = [&](const char* name, TimeBucket head, TimeBucket behind) {
    add(name, [=](const metrics::TimeUses& t) { return t[head].mean_s + t[behind].mean_s; });
  };
  const auto add_group = [&](std::size_t group) {
    add(metrics::kTimeGroups[group].name, [group](const metrics::TimeUses& t) { return t.groups[group].mean_s; });
  };
  add_bucket("front end", TimeBucket::front_end);
  add_bucket("step boundary", TimeBucket::step_boundary);
  add_group(0);
  add_queue("  queue: seat", TimeBucket::queue_seat_head, TimeBucket::queue_seat_behind);
  add_queue("  queue: token budget", TimeBucket::queue_token_budget_head, TimeBucket::queue_token_budget_behind);
  add_queue("  queue: KV memory", TimeBucket::queue_kv_memory_head, TimeBucket::queue_kv_memory_behind);
  add_bucket("tier fetch", TimeBucket::tier_fetch);
  add_group(1);
  add_bucket("  prefill: interference", TimeBucket::prefill_interference);
  add_group(2);
  add_bucket("  decode: interference", TimeBucket::decode_interference);
  add_bucket("skipped", TimeBucket::skipped);
  add_group(3);
}

void add_misses(Rows& rows) {
  const auto add = [&](const std::string& name, auto of) {
    rows.push_back({"throughput", name, Figure::share, "", false, Show::if_not_zero,
                    [of](const Summary& s) -> std::optional<double> {
                      if (!s.misses) return std::nullopt;
                      return s.share_of_arrived(of(*s.misses));
                    }});
  };
  for (std::size_t i = 0; i < kSloLimitLabels.size(); ++i) {
    add(fmt::format("missed {}", kSloLimitLabels[i]),
        [i](const metrics::SloMisses& misses) { return misses.limits[i].requests; });
  }
  add("not finished", [](const metrics::SloMisses& misses) { return misses.not_finished; });
}

void add_cache(Rows& rows) {
  using Work = metrics::PrefixCacheWork;
  constexpr const char* kGroup = "prefix cache";
  const auto add = [&](const std::string& name, Figure figure, bool ratio, Show show, const auto& of) {
    rows.push_back({kGroup, name, figure, "", ratio, show, [of](const Summary& s) -> std::optional<double> {
                      if (!s.prefix_cache_work) return std::nullopt;
                      return of(*s.prefix_cache_work);
                    }});
  };
  for (std::size_t i = 0; i < kHitCauses; ++i) {
    add(fmt::format("tokens found, {}", words_of(kHitCauseNames[i])), Figure::count, true, Show::if_not_zero,
        [i](const Work& w) { return static_cast<double>(w.ledger.hit_tokens[i]); });
  }
  add("requests with a hit", Figure::share, false, Show::if_sampled, [](const Work& w) { return w.requests_hit(); });
  add("prefill saved", Figure::time, true, Show::if_sampled, [](const Work& w) { return w.saved_prefill_s; });
  add("blocks evicted", Figure::count, true, Show::if_sampled,
      [](const Work& w) { return static_cast<double>(w.ledger.evicted_blocks); });
  add("stranded, of cached", Figure::share, false, Show::if_sampled, [](const Work& w) { return w.stranded_share(); });
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string name = std::array{"host", "nvme", "remote"}[i];
    const auto of_tier = [name](const Work& w, auto figure) -> std::optional<double> {
      for (const TierLedger& tier : w.ledger.tiers) {
        if (tier.name == name) return figure(tier);
      }
      return std::nullopt;
    };
    add("found in the " + name + " tier, tokens", Figure::count, true, Show::if_sampled, [of_tier](const Work& w) {
      return of_tier(w, [](const TierLedger& tier) { return static_cast<double>(tier.hit_tokens); });
    });
    add("read from the " + name + " tier", Figure::bytes, true, Show::if_sampled, [of_tier](const Work& w) {
      return of_tier(w, [&](const TierLedger& t) { return static_cast<double>(t.read_blocks * w.block.count()); });
    });
    add("written to the " + name + " tier", Figure::bytes, true, Show::if_sampled, [of_tier](const Work& w) {
      return of_tier(w, [&](const TierLedger& t) { return static_cast<double>(t.written_blocks * w.block.count()); });
    });
  }
  add("regret, tokens", Figure::count, false, Show::if_sampled, [](const Work& w) -> std::optional<double> {
    if (!w.regret) return std::nullopt;
    return static_cast<double>(w.regret->hit_tokens);
  });
  add("regret, prefill", Figure::time, false, Show::if_sampled, [](const Work& w) -> std::optional<double> {
    if (!w.regret) return std::nullopt;
    return w.regret->saved_prefill_s;
  });
}

void add_peaks(Rows& rows) {
  constexpr const char* kGroup = "memory, peak shares";
  for (std::size_t i = 0; i < kMemoryStates; ++i) {
    if (static_cast<MemoryState>(i) == MemoryState::free) continue;  // all of it, before the first request
    rows.push_back({kGroup, fmt::format("{}, at most", kMemoryStateNames[i]), Figure::share, "", false,
                    Show::if_not_zero, [i](const Summary& s) { return s.memory[i].peak_share; }});
  }
  rows.push_back({kGroup, "largest free region, least", Figure::share, "", false, Show::always,
                  [](const Summary& s) { return s.largest_free_min_share; }});
}

void add_memory(Rows& rows) {
  constexpr const char* kGroup = "memory, mean shares";
  constexpr const char* kTook = "memory, what it took";
  add_bytes(rows, kGroup, "capacity", &Summary::capacity, Show::always);
  for (std::size_t i = 0; i < kMemoryStates; ++i) {
    rows.push_back({kGroup, kMemoryStateNames[i], Figure::share, "", false, Show::if_not_zero,
                    [i](const Summary& s) { return s.memory[i].mean_share; }});
  }
  rows.push_back({kGroup, "all states", Figure::share, "", false, Show::always, [](const Summary& s) {
                    double sum = 0;
                    for (const metrics::MemoryShare& state : s.memory) sum += state.mean_share;
                    return sum;
                  }});
  rows.push_back({kGroup, "largest free region", Figure::share, "", false, Show::always,
                  [](const Summary& s) { return s.largest_free_mean_share; }});
  rows.push_back({kGroup, "blocks saved by sharing", Figure::share, "", false, Show::if_sampled,
                  [](const Summary& s) { return s.shared_blocks_saved; }});
  add_peaks(rows);
  add_count(rows, kTook, "refused although free", &Summary::refused_although_free, false);
  rows.push_back({kTook, "copied within the GPUs", Figure::bytes, "", true, Show::if_not_zero,
                  [](const Summary& s) { return static_cast<double>(s.memory_work.copied.count()); }});
  rows.push_back({kTook, "compactions", Figure::count, "", true, Show::if_not_zero,
                  [](const Summary& s) { return static_cast<double>(s.memory_work.compactions); }});
  rows.push_back({kTook, "pages mapped", Figure::count, "", true, Show::if_not_zero,
                  [](const Summary& s) { return static_cast<double>(s.memory_work.pages_mapped); }});
  rows.push_back({kTook, "pages unmapped", Figure::count, "", true, Show::if_not_zero,
                  [](const Summary& s) { return static_cast<double>(s.memory_work.pages_unmapped); }});
  rows.push_back({kTook, "time for these", Figure::time, "", true, Show::if_not_zero,
                  [](const Summary& s) { return to_seconds(s.memory_work.time); }});
}

Rows make_rows() {
  Rows rows;
  add_count(rows, "requests", "arrived", &Summary::arrived, false);
  add_count(rows, "requests", "finished", &Summary::finished, false);
  add_count(rows, "requests", "rejected", &Summary::rejected, false);
  add_count(rows, "requests", "timed out", &Summary::timed_out, false);
  add_count(rows, "requests", "unfinished", &Summary::unfinished, false);
  add_times(rows, "latency", "admission", &Summary::admission, Show::always);
  add_times(rows, "latency", "TTFT", &Summary::ttft, Show::always);
  add_times(rows, "latency", "TPOT", &Summary::tpot, Show::always);
  add_times(rows, "latency", "ITL", &Summary::itl, Show::always);
  add_times(rows, "latency", "E2E", &Summary::e2e, Show::always);
  add_time_went(rows);
  add_number(rows, "throughput", "requests", "1/s", &Summary::requests_per_s);
  add_number(rows, "throughput", "output tokens", "1/s", &Summary::output_tokens_per_s);
  rows.push_back({"throughput", "goodput, requests", Figure::number, "1/s", true, Show::if_sampled,
                  [](const Summary& s) { return s.goodput_requests_per_s; }});
  rows.push_back({"throughput", "good, share of all", Figure::share, "", false, Show::if_sampled,
                  [](const Summary& s) { return s.good_share(); }});
  add_misses(rows);
  rows.push_back(
      {"throughput", "makespan", Figure::time, "", true, Show::always, [](const Summary& s) { return s.makespan_s; }});
  rows.push_back({"throughput", "prefix tokens found", Figure::share, "", false, Show::if_sampled,
                  [](const Summary& s) { return s.prefix_cache.hit_ratio(); }});
  add_cache(rows);
  add_count(rows, "batch", "steps", &Summary::steps, true);
  rows.push_back({"batch", "pipeline bubbles", Figure::share, "", false, Show::if_not_zero,
                  [](const Summary& s) { return s.pipeline.share(s.pipeline.bubble()).value_or(0); }});
  add_number(rows, "batch", "running, mean", "", &Summary::mean_running);
  add_count(rows, "batch", "running, at most", &Summary::max_running, true);
  add_number(rows, "batch", "waiting, mean", "", &Summary::mean_waiting);
  add_count(rows, "batch", "waiting, at most", &Summary::max_waiting, true);
  add_count(rows, "preemption", "preemptions", &Summary::preemptions, true);
  add_count(rows, "preemption", "requests preempted", &Summary::preempted_requests, true);
  add_count(rows, "preemption", "tokens recomputed", &Summary::recomputed_tokens, true);
  add_times(rows, "preemption", "stall", &Summary::stall, Show::if_sampled);
  rows.push_back({"preemption", "recomputed, of all computed", Figure::share, "", false, Show::if_not_zero,
                  [](const Summary& s) { return s.recomputed_share(); }});
  rows.push_back({"preemption", "swapped out", Figure::bytes, "", true, Show::if_not_zero,
                  [](const Summary& s) { return static_cast<double>(s.swap.total().out_bytes.count()); }});
  for (const auto& [name, busy] : {std::pair("host link busy, out", &metrics::SwapUse::out_busy),
                                   std::pair("host link busy, back", &metrics::SwapUse::in_busy)}) {
    rows.push_back({"preemption", name, Figure::share, "", false, Show::if_not_zero,
                    [busy](const Summary& s) { return (s.swap.*busy).value_or(metrics::SwapUse::Busy{}).mean_share; }});
  }
  rows.push_back({"preemption", "engine waited on the link", Figure::time, "", true, Show::if_not_zero,
                  [](const Summary& s) { return s.swap.engine_waited_s; }});
  add_memory(rows);
  return rows;
}

}  // namespace

const std::vector<ComparisonRow>& comparison_rows() {
  static const std::vector<ComparisonRow> rows = make_rows();
  return rows;
}

}  // namespace blockyard::report
