#include "sim/report/summary_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/definitions.h"
#include "sim/report/figures.h"
#include "sim/report/groups_text.h"
#include "sim/report/replicas.h"
#include "sim/report/text_table.h"

namespace blockyard::report {
namespace {

using metrics::Summary;

constexpr std::size_t kColumns = 100;
constexpr std::string_view kIndent = "  ";
constexpr std::string_view kLabelIndent = "            ";

// A line that opens with a word in the left margin: "tokens      22,361,001 prompt, ...".
std::string labelled(std::string_view label, std::string_view text) {
  return wrapped(fmt::format("{:<{}}", label, kLabelIndent.size()), text, kColumns, kLabelIndent);
}

std::string footnote(std::string_view text) { return wrapped(kIndent, text, kColumns, kIndent); }

std::string heading(const metrics::Identity& identity, std::size_t replicas) {
  return wrapped("",
                 fmt::format("{}: {} on {} x {}{}, seed {}", identity.scenario, identity.model, identity.gpus,
                             identity.gpu, replicas > 1 ? fmt::format(" in {} replicas", replicas) : "", identity.seed),
                 kColumns, kIndent);
}

std::string rejections(const Summary& s) {
  std::string text;
  for (std::size_t i = 1; i < metrics::kRejectReasons; ++i) {
    if (s.rejected_by_reason[i] == 0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", count_text(s.rejected_by_reason[i]),
                        metrics::name_of(static_cast<metrics::RejectReason>(i)));
  }
  return text.empty() ? text : " (" + text + ")";
}

std::string cache_line(const Summary& s) {
  const metrics::PrefixCacheWork& work = *s.prefix_cache_work;
  std::string causes;
  for (std::size_t i = 0; i < kHitCauses; ++i) {
    if (work.ledger.hit_tokens[i] == 0) continue;
    std::string name = kHitCauseNames[i];
    std::ranges::replace(name, '_', ' ');
    causes += fmt::format("{}{} by {}", causes.empty() ? "" : ", ", count_text(work.ledger.hit_tokens[i]), name);
  }
  return labelled("cache",
                  fmt::format("{}: tokens found {}; a hit in {} of the requests; {} of prefill saved; {} blocks "
                              "evicted; {} of the cached ones stranded",
                              s.identity.eviction, causes.empty() ? "0" : causes,
                              share_text(work.requests_hit().value_or(0)), time_text(work.saved_prefill_s),
                              count_text(work.ledger.evicted_blocks), share_text(work.stranded_share().value_or(0))));
}

std::string tier_lines(const Summary& s) {
  const metrics::PrefixCacheWork& work = *s.prefix_cache_work;
  const CacheLedger& ledger = work.ledger;
  const auto bytes = [&](std::int64_t blocks) {
    return bytes_text(static_cast<double>(blocks) * static_cast<double>(work.block.count()));
  };
  std::string text;
  for (std::size_t i = 0; i < ledger.tiers.size(); ++i) {
    const TierLedger& tier = ledger.tiers[i];
    std::string line = fmt::format("{}, {} of it used: {} tokens found", bytes(tier.capacity_blocks),
                                   bytes(tier.used_blocks), count_text(tier.hit_tokens));
    if (s.prefix_cache.looked_up_tokens > 0)
      line += fmt::format(", {} of those looked up", share_text(tier.hit_share(s.prefix_cache.looked_up_tokens)));
    line += fmt::format("; {} read, {} written, {} blocks evicted", bytes(tier.read_blocks), bytes(tier.written_blocks),
                        count_text(tier.evicted_blocks));
    if (i < work.tier_links.size()) {
      line += fmt::format("; link busy {} out, {} in", share_text(work.tier_links[i].out_busy_share),
                          share_text(work.tier_links[i].in_busy_share));
    }
    text += labelled(fmt::format("  {}", tier.name), line);
  }
  if (ledger.tiers.empty()) return text;
  return text + labelled("", fmt::format("{} tokens that a tier had were computed instead, which took less time; steps "
                                         "waited {} for blocks on their way to a tier",
                                         count_text(ledger.computed_instead_tokens),
                                         time_text(to_seconds(ledger.waited_for_writes))));
}

std::string limits_text(const Summary& s) {
  return s.slo_classes.empty() ? slo_text(s.slo) : "the limits of their class";
}

std::string work(const Summary& s) {
  std::string text;
  text += labelled("requests", fmt::format("{} arrived = {} finished + {} rejected{} + {} timed out + {} unfinished",
                                           count_text(s.arrived), count_text(s.finished), count_text(s.rejected),
                                           rejections(s), count_text(s.timed_out), count_text(s.unfinished)));
  const std::string again =
      s.recomputed_tokens == 0 ? "" : fmt::format(" ({})", share_text(s.recomputed_share().value_or(0)));
  text += labelled("tokens", fmt::format("{} prompt, {} output; {} computed, {} of them again{}",
                                         count_text(s.prompt_tokens), count_text(s.output_tokens),
                                         count_text(s.computed_tokens), count_text(s.recomputed_tokens), again));
  const metrics::PrefixCacheUse& prefix = s.prefix_cache;
  if (prefix.looked_up_tokens > 0) {
    const bool resumed = prefix.looked_up_tokens_resumed > 0;
    text += labelled(
        "prefix hits",
        fmt::format("{} of {} prompt tokens, {}{}", count_text(prefix.hit_tokens - prefix.hit_tokens_resumed),
                    count_text(prefix.looked_up_tokens - prefix.looked_up_tokens_resumed),
                    share_text(prefix.hit_ratio().value_or(0)),
                    resumed ? fmt::format("; {} of {} by resumed requests", count_text(prefix.hit_tokens_resumed),
                                          count_text(prefix.looked_up_tokens_resumed))
                            : ""));
  }
  if (s.prefix_cache_work) text += cache_line(s) + tier_lines(s);
  if (s.window) {
    text += labelled("window", fmt::format("figures below and tokens above are of {:.6g} s to {:.6g} s: {} requests "
                                           "arrived in it, {} finished",
                                           s.window->from_s, s.window->to_s, count_text(s.window->arrived),
                                           count_text(s.window->finished)));
  }
  const std::string words = duration_words(s.makespan_s);
  text += labelled("makespan", fmt::format("{}{} in {} steps", time_text(s.makespan_s),
                                           words.empty() ? "" : " (" + words + ")", count_text(s.steps)));
  text += labelled("throughput", fmt::format("{} requests/s, {} output tokens/s", significant(s.requests_per_s),
                                             significant(s.output_tokens_per_s)));
  if (s.good_requests) {
    const double share = s.good_share().value_or(0);
    text += labelled("goodput", fmt::format("{} requests/s: {} requests, {} of all, met {}",
                                            significant(s.goodput_requests_per_s.value_or(0)),
                                            count_text(*s.good_requests), share_text(share), limits_text(s)));
    // Of several classes each has its own line.
    if (s.slo_classes.empty()) text += labelled("misses", misses_text(s.slo, s.misses.value_or(metrics::SloMisses{})));
  }
  return text + footnote(kThroughputDefinition);
}

void add_distribution(TextTable& table, const std::string& name, const metrics::Distribution& d) {
  const Unit unit = time_unit(d.mean_s.value_or(0));
  std::vector<std::string> row{name, unit.name, count_text(d.count)};
  for (const auto& value : {d.mean_s, d.p50_s, d.p90_s, d.p99_s, d.max_s}) row.push_back(in_unit(value, unit));
  table.add(std::move(row));
}

std::string latency(const Summary& s) {
  TextTable table(2);
  table.add({"latency", "unit", "values", "mean", "p50", "p90", "p99", "max"});
  add_distribution(table, "  admission", s.admission);
  add_distribution(table, "  TTFT", s.ttft);
  add_distribution(table, "  TPOT", s.tpot);
  add_distribution(table, "  ITL", s.itl);
  add_distribution(table, "  E2E", s.e2e);
  add_distribution(table, "  E2E/token", s.e2e_per_output_token);
  const bool preempted = s.preempted_requests > 0;
  if (preempted) add_distribution(table, "  stall", s.stall);
  std::string text = table.text();
  text += footnote(kLatencyDefinition);
  if (preempted) text += footnote(kStallDefinition);
  for (const std::string& warning : s.warnings) text += footnote("Warning: " + warning + ".");
  return text;
}

// A row a bucket, in the unit of its mean; buckets that nobody was in are left out.
void add_time_uses(TextTable& table, const metrics::TimeUses& uses, const char* total,
                   const std::optional<Seconds>& p99_of_total) {
  const auto add = [&](const std::string& name, Seconds mean, const std::optional<Seconds>& p99, double share) {
    const Unit unit = time_unit(mean);
    table.add({"  " + name, unit.name, in_unit(mean, unit), in_unit(p99, unit), share_text(share)});
  };
  double share = 0;
  double mean = 0;
  for (std::size_t i = 0; i < metrics::kTimeBuckets; ++i) {
    const metrics::TimeUse& u = uses.buckets[i];
    if (u.share == 0) continue;
    add(metrics::kTimeBucketNames[i], u.mean_s, u.p99_s, u.share);
    share += u.share;
    mean += u.mean_s;
  }
  add(total, mean, p99_of_total, share);
}

std::string time_ledger(const Summary& s) {
  if (s.finished + s.timed_out == 0) return "";
  TextTable table(2);
  table.add({"where time went", "unit", "mean", "p99", "share"});
  if (s.finished > 0) add_time_uses(table, s.time, "E2E", s.e2e.p99_s);
  if (s.time_timed_out.requests > 0) {
    table.add({fmt::format("of {} timed out", count_text(s.time_timed_out.requests))});
    add_time_uses(table, s.time_timed_out, "until they left", std::nullopt);
  }
  return table.text() + footnote(kTimeDefinition) + "\n";
}

std::string batch(const Summary& s) {
  std::string text = labelled(
      "batch", fmt::format("running: mean {}, at most {}; waiting: mean {}, at most {}", significant(s.mean_running),
                           count_text(s.max_running), significant(s.mean_waiting), count_text(s.max_waiting)));
  const std::string gaps =
      s.itl.count == 0
          ? ""
          : labelled("token gaps", fmt::format("{} of {} longer than {}", count_text(s.gaps_over_threshold),
                                               count_text(s.itl.count), limit_text(s.gap_threshold)));
  if (s.preemptions == 0) return text + labelled("preemption", "none") + gaps;
  text += labelled("preemption", fmt::format("{} preemptions of {} requests, {} by swap", count_text(s.preemptions),
                                             count_text(s.preempted_requests), count_text(s.preemptions_by_swap)));
  text += labelled(
      "stalls", fmt::format("{}{}, {} for 1,000 output tokens; {} in all: {} waiting, {} restoring",
                            count_text(s.each_stall.count),
                            s.each_stall.count < s.preemptions ? " (preempted again before it is over, it is one)" : "",
                            significant(s.stalls_per_1000_output_tokens().value_or(0)), time_text(s.total_stall_s),
                            time_text(s.stall_waiting_s), time_text(s.stall_restoring_s)));
  return text + gaps;
}

std::string pipeline(const metrics::PipelineUse& p) {
  if (p.stages == 1) return "";
  const auto share = [&](SimTime part) { return share_text(p.share(part).value_or(0)); };
  return labelled("pipeline",
                  fmt::format("{} stages, with a batch under way for {}: of their time {} computing, {} sending "
                              "activations on, {} bubbles",
                              p.stages, time_text(to_seconds(p.under_way)), share(p.computing), share(p.sending),
                              share(p.bubble())));
}

std::string swap(const metrics::SwapUse& swap) {
  const metrics::SwapTraffic total = swap.total();
  if (total == metrics::SwapTraffic{}) return "";
  const auto bytes = [](Bytes n) { return bytes_text(static_cast<double>(n.count())); };
  std::string text = labelled("swap", fmt::format("{} out to the host in {} blocks, {} back in {}",
                                                  bytes(total.out_bytes), count_text(total.out_blocks.count()),
                                                  bytes(total.in_bytes), count_text(total.in_blocks.count())));
  const metrics::SwapUse::Busy out = swap.out_busy.value_or(metrics::SwapUse::Busy{});
  const metrics::SwapUse::Busy in = swap.in_busy.value_or(metrics::SwapUse::Busy{});
  text += labelled("host link", fmt::format("busy {} of the time out ({} of its busiest {}), {} back ({}); the engine "
                                            "waited {} for it",
                                            share_text(out.mean_share), share_text(out.peak_share),
                                            limit_text(to_time(swap.peak_interval_s)), share_text(in.mean_share),
                                            share_text(in.peak_share), time_text(swap.engine_waited_s)));
  return text + labelled("host pool",
                         fmt::format("{}: live {} on average, {} at its peak", bytes(swap.host_capacity),
                                     share_text(swap.host_live_mean_share), share_text(swap.host_live_peak_share)));
}

std::string memory(const Summary& s) {
  const auto capacity = static_cast<double>(s.capacity.count());
  const Unit unit = byte_unit(capacity);
  const auto bytes = [&](double share) { return in_unit_of_column(share * capacity, unit, capacity); };
  TextTable table;
  table.add({fmt::format("memory: {} for KV", bytes_text(capacity)), "mean", unit.name, "peak", unit.name});
  double mean_sum = 0;
  for (std::size_t i = 0; i < kMemoryStates; ++i) {
    const metrics::MemoryShare& m = s.memory[i];
    if (m.peak_share == 0) continue;
    std::vector<std::string> row{fmt::format("  {}", kMemoryStateNames[i]), share_text(m.mean_share),
                                 bytes(m.mean_share)};
    // Before the first request all is free: that peak says nothing.
    if (static_cast<MemoryState>(i) != MemoryState::free)
      row.insert(row.end(), {share_text(m.peak_share), bytes(m.peak_share)});
    table.add(std::move(row));
    mean_sum += m.mean_share;
  }
  table.add({"  all states", share_text(mean_sum), bytes(mean_sum)});
  table.add({"  largest free region", share_text(s.largest_free_mean_share), bytes(s.largest_free_mean_share),
             fmt::format("least {}", share_text(s.largest_free_min_share)), bytes(s.largest_free_min_share)});
  std::string below =
      fmt::format("  {} admissions refused although enough memory was free\n", count_text(s.refused_although_free));
  if (s.shared_blocks_saved) {
    below +=
        fmt::format("  sharing between the samples of a request saves {} of the blocks that they would hold apart\n",
                    share_text(*s.shared_blocks_saved));
  }
  const metrics::MemoryWork& work = s.memory_work;
  if (work.copied > Bytes(0) || work.compactions > 0) {
    below += fmt::format("  {} copied, {} compactions\n", bytes_text(static_cast<double>(work.copied.count())),
                         count_text(work.compactions));
  }
  if (work.pages_mapped > 0) {
    below += fmt::format("  {} pages mapped, {} unmapped on each GPU\n", count_text(work.pages_mapped),
                         count_text(work.pages_unmapped));
  }
  if (work.any()) below += fmt::format("  which made steps {} longer in all\n", time_text(to_seconds(work.time)));
  return table.text() + below + footnote(kMemoryDefinition);
}

std::string origin(const metrics::Identity& identity, std::string_view read) {
  std::string text;
  for (const std::string& line : identity.provenance) text += labelled("constants", line);
  for (const std::string& line : identity.notes) text += labelled("note", line);
  if (!read.empty()) text += labelled("note", read);
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string print_summary(const Summary& s, std::string_view read) {
  return marks_text(s) + heading(s.identity, s.replicas.size()) + "\n" + work(s) + "\n" + latency(s) + "\n" +
         groups_text(s) + replicas_text(s) + time_ledger(s) + batch(s) + pipeline(s.pipeline) + swap(s.swap) + "\n" +
         memory(s) + origin(s.identity, read);
}

}  // namespace blockyard::report
