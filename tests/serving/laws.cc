#include "tests/serving/laws.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/model/kv_layout.h"
#include "sim/model/memory_budget.h"
#include "sim/serving/hardware.h"

namespace blockyard::serving_tests {
namespace {

using metrics::Outcome;
using metrics::RequestRecord;
using metrics::Summary;

// Doubles that differ by rounding alone.
bool about(double a, double b) { return std::abs(a - b) <= 1e-11 * std::max({1e-9, std::abs(a), std::abs(b)}); }

// Where layers do not all keep the same past, each kind has blocks of its own: the slots of the ledger that the tables
// of one sequence may leave unfilled. Nothing if there is one table.
std::optional<std::int64_t> most_unfilled(const serving::RunResult& result, const scenario::Document& scenario) {
  if (scenario.choice("kv_cache.strategy") != "paged") return std::nullopt;
  const model::ModelSpec spec = serving::load_model(scenario, config_folder());
  model::LayoutOptions options;
  options.split = {scenario.integer("hardware.tensor_parallel_size"), 1, model::default_kv_dtype(spec)};
  options.block_size = scenario.tokens("kv_cache.block_size");
  options.hybrid_manager = scenario.choice("kv_cache.hybrid_kv_cache_manager") == "on";
  const std::int64_t slot = result.collector.slot_bytes() / options.split.tp;
  const std::vector<model::PageGroup> groups = model::kv_layout(spec, model::whole_model(spec), options).groups;
  const bool one_table = Bytes(slot) == model::kv_bytes_per_token(model::kv_geometry(spec), options.split);
  if (one_table && groups.size() == 1) return std::nullopt;
  double bytes = 0;
  for (const model::PageGroup& group : groups) {
    if (group.kind == model::LayerKind::recurrent) continue;
    bytes +=
        static_cast<double>(group.layers) * group.used_page_bytes * (1 - 1 / static_cast<double>(group.block.count()));
  }
  return std::llround(bytes / static_cast<double>(slot));
}

class Laws {
 public:
  Laws(const serving::RunResult& result, const scenario::Document& scenario)
      : s_(result.summary),
        collector_(result.collector),
        records_(result.collector.records()),
        scenario_(scenario),
        work_(workload_of(scenario)),
        most_unfilled_(most_unfilled(result, scenario)),
        replicas_(scenario.integer("hardware.data_parallel_size")),
        end_(std::llround(result.summary.makespan_s * 1e9)) {}

  std::vector<std::string> broken() {
    of_counts();
    if (!broken_.empty()) return broken_;  // the others go through records and requests side by side
    for (std::size_t i = 0; i < records_.size(); ++i) of_request(i, records_[i], work_.requests[i]);
    of_sums();
    of_time();
    of_memory();
    of_swaps();
    of_time_series();
    of_tiers();
    of_replicas();
    of_groups(s_.slo_classes, "classes");
    std::vector<metrics::GroupFigures> tenants = s_.tenants.tenants;
    if (s_.tenants.others) tenants.push_back(*s_.tenants.others);
    of_groups(tenants, "tenants");
    return broken_;
  }

 private:
  template <class... Values>
  void expect(bool holds, fmt::format_string<Values...> text, Values&&... values) {
    if (!holds && broken_.size() < 10) broken_.push_back(fmt::format(text, std::forward<Values>(values)...));
  }

  [[nodiscard]] bool whole() const { return !s_.interrupted && s_.stuck.empty(); }
  [[nodiscard]] std::int64_t number_of(Outcome outcome) const {
    return std::count_if(records_.begin(), records_.end(), [&](const auto& r) { return r.outcome == outcome; });
  }

  // Every request is of one group of a kind.
  void of_groups(const std::vector<metrics::GroupFigures>& groups, const char* kind) {
    if (groups.empty()) return;
    metrics::GroupFigures sum;
    std::int64_t good = 0;
    for (const metrics::GroupFigures& f : groups) {
      expect(f.arrived == f.finished + f.rejected + f.timed_out + f.unfinished, "{}: {}: {} arrived", kind, f.name,
             f.arrived);
      sum.arrived += f.arrived;
      sum.finished += f.finished;
      sum.prompt_tokens += f.prompt_tokens;
      good += f.good_requests.value_or(0);
    }
    expect(good == s_.good_requests.value_or(0), "{}: {} good, {} in all", kind, good, s_.good_requests.value_or(0));
    if (s_.window) return;
    expect(sum.arrived == s_.arrived && sum.finished == s_.finished && sum.prompt_tokens == s_.prompt_tokens,
           "{}: {} arrived, {} finished, {} prompt tokens", kind, sum.arrived, sum.finished, sum.prompt_tokens);
  }

  void of_counts() {
    const auto arrived = static_cast<std::int64_t>(records_.size());
    const auto sent = static_cast<std::int64_t>(work_.requests.size());
    expect(s_.arrived == arrived, "arrived {}, records {}", s_.arrived, arrived);
    expect(whole() ? arrived == sent : arrived <= sent, "arrived {}, sent {}", arrived, sent);
    expect(s_.arrived == s_.finished + s_.rejected + s_.timed_out + s_.unfinished, "arrived {} != {} + {} + {} + {}",
           s_.arrived, s_.finished, s_.rejected, s_.timed_out, s_.unfinished);
    expect(s_.finished == number_of(Outcome::finished) && s_.rejected == number_of(Outcome::rejected) &&
               s_.timed_out == number_of(Outcome::timed_out) && s_.unfinished == number_of(Outcome::unfinished),
           "outcomes {} {} {} {} are not those of the records", s_.finished, s_.rejected, s_.timed_out, s_.unfinished);
    expect(!whole() || s_.unfinished == 0, "{} unfinished", s_.unfinished);
    expect(s_.steps > 0 || s_.arrived == s_.rejected || !whole(), "no step, {} of {} rejected", s_.rejected,
           s_.arrived);
  }

  // What the engine makes of a request: the shortest of what it has to say, what it asked for, and what the longest
  // sequence leaves room for. A prompt that may be as long as that grows one token longer.
  [[nodiscard]] std::int64_t output_of(const workload::Request& request) const {
    const Tokens room = work_.longest_prompt + Tokens(1) - request.prompt_tokens;
    return std::max<std::int64_t>(1, std::min({request.output_tokens, request.max_tokens, room}).count());
  }

  void of_request(std::size_t i, const RequestRecord& r, const workload::Request& request) {
    expect(r.arrival == request.arrival && Tokens(r.prompt_tokens) == request.prompt_tokens,
           "request {} arrives at {} ns, was sent at {} ns", i, r.arrival.count(), request.arrival.count());
    const bool too_long = request.prompt_tokens > work_.longest_prompt;
    expect(too_long == (r.reason == metrics::RejectReason::prompt_too_long), "request {}: a prompt of {} tokens, {}", i,
           r.prompt_tokens, name_of(r.outcome));
    expect(r.stall >= SimTime(0) && r.recomputed_tokens >= 0 && r.preemptions >= 0, "request {}: less than nothing", i);
    expect(r.preemptions > 0 || (r.stall == SimTime(0) && r.recomputed_tokens == 0),
           "request {}: stalled {} ns and never preempted", i, r.stall.count());
    switch (r.outcome) {
      case Outcome::finished:
        expect(r.arrival <= r.admitted && r.admitted < r.first_token && r.first_token <= r.ended &&
                   r.ended.count() <= end_,
               "request {}: arrival {}, admitted {}, first token {}, ended {}, end of run {}", i, r.arrival.count(),
               r.admitted.count(), r.first_token.count(), r.ended.count(), end_);
        expect(r.stall <= r.ended - r.admitted, "request {}: stalled {} ns", i, r.stall.count());
        expect(r.generated_tokens == output_of(request), "request {}: {} tokens of {}", i, r.generated_tokens,
               output_of(request));
        expect((r.generated_tokens == 1) == (r.first_token == r.ended), "request {}: {} tokens from {} to {}", i,
               r.generated_tokens, r.first_token.count(), r.ended.count());
        expect(r.preemptions == 0 || r.stall > SimTime(0), "request {}: preempted without a stall", i);
        expect(r.samples == request.samples, "request {}: {} samples of {}", i, r.samples, request.samples);
        // The prompt is written once, the rest by each sample.
        true_end_ += r.prompt_tokens + r.samples * (r.generated_tokens - 1);
        generated_ += r.samples * r.generated_tokens;
        gaps_ += r.samples * (r.generated_tokens - 1);
        gaps_ns_ += r.samples * static_cast<double>((r.ended - r.first_token).count());
        break;
      case Outcome::rejected:
        expect(r.reason != metrics::RejectReason::none, "request {} is rejected for nothing", i);
        if (r.reason == metrics::RejectReason::ignored_by_engine) {
          ++ignored_;
          expect(r.ended >= r.arrival, "request {} is ignored before it arrives", i);
          break;
        }
        expect(r.ended == r.arrival && r.admitted == kNever && r.first_token == kNever,
               "request {} is rejected at {}, arrived at {}", i, r.ended.count(), r.arrival.count());
        break;
      case Outcome::timed_out:
        expect(r.first_token == kNever && r.ended - r.arrival >= scenario_.time("admission.abandon_after"),
               "request {} leaves after {} ns", i, (r.ended - r.arrival).count());
        break;
      case Outcome::unfinished:
        expect(r.ended == kNever, "request {} is unfinished and ended at {}", i, r.ended.count());
        break;
    }
    if (r.outcome != Outcome::rejected || r.ended > r.arrival) {
      const SimTime left = std::min(r.ended, SimTime(end_));
      sojourns_ += static_cast<double>((left - r.arrival).count());
      if (r.preemptions == 0) {
        waits_ += static_cast<double>((std::min(r.admitted, left) - r.arrival).count());
      } else {
        preempted_ = true;
      }
    }
    widest_ = std::max(widest_, static_cast<std::int64_t>(request.samples));
    preemptions_ += r.preemptions;
    recomputed_ += r.recomputed_tokens;
    prompts_ += r.prompt_tokens;
    stalls_ += r.stall.count();
    waiting_ += r.stall_waiting.count();
    expect(SimTime(0) <= r.stall_waiting && r.stall_waiting <= r.stall, "request {}: waits for {} of {} ns stalled", i,
           r.stall_waiting.count(), r.stall.count());
  }

  void of_sums() {
    expect(s_.prompt_tokens == prompts_, "prompt tokens {}, of requests {}", s_.prompt_tokens, prompts_);
    expect(s_.preemptions == preemptions_, "preemptions {}, of requests {}", s_.preemptions, preemptions_);
    expect(s_.recomputed_tokens == recomputed_, "recomputed {}, of requests {}", s_.recomputed_tokens, recomputed_);
    expect(about(s_.total_stall_s, static_cast<double>(stalls_) / 1e9), "stalls {} s, of requests {} ns",
           s_.total_stall_s, stalls_);
    expect(about(s_.stall_waiting_s, static_cast<double>(waiting_) / 1e9) &&
               about(s_.stall_restoring_s, static_cast<double>(stalls_ - waiting_) / 1e9),
           "stalls: {} s waiting and {} s restoring of {} ns", s_.stall_waiting_s, s_.stall_restoring_s, stalls_);
    // Preempted again before it is over, it is one stall; a client that leaves ends it.
    expect(s_.each_stall.count <= s_.preemptions, "{} stalls by {} preemptions", s_.each_stall.count, s_.preemptions);
    if (s_.unfinished > 0 || ignored_ > 0) return;
    // Only finished requests have tokens, and gaps add up to the time from each first token to its last.
    expect(s_.output_tokens == generated_, "output tokens {}, of requests {}", s_.output_tokens, generated_);
    expect(s_.itl.count == gaps_, "gaps {}, of requests {}", s_.itl.count, gaps_);
    expect(about(s_.itl.mean_s.value_or(0) * static_cast<double>(s_.itl.count), gaps_ns_ / 1e9),
           "gaps of {} s on average, {} of them, {} ns in all", s_.itl.mean_s.value_or(0), s_.itl.count, gaps_ns_);
    if (s_.timed_out > 0) return;
    // A request writes prompt + output - 1 tokens, each once but for those computed again and those found in the cache.
    const std::int64_t first_time = s_.computed_tokens - s_.recomputed_tokens;
    const metrics::PrefixCacheUse& cache = s_.prefix_cache;
    expect(first_time <= true_end_ - (cache.hit_tokens - cache.hit_tokens_resumed) &&
               first_time >= true_end_ - cache.hit_tokens,
           "computed {} - recomputed {}, to be written {}, found in the cache {}", s_.computed_tokens,
           s_.recomputed_tokens, true_end_, cache.hit_tokens);
  }

  // Little's law without its limit: the integral of those in the house over time is the sum of their stays, to the ns.
  void of_time() {
    const double span = static_cast<double>(end_);
    const double waiting = s_.mean_waiting * span;
    const double in_house = waiting + s_.mean_running * span;
    // Below this, rounding is far from a nanosecond.
    const double exact = sojourns_ < 1e14 ? 0.5 : 1e-11 * sojourns_;
    expect(std::abs(in_house - sojourns_) < exact, "waiting + running: {} request-ns, stays {} ns", in_house,
           sojourns_);
    expect(preempted_ || std::abs(waiting - waits_) < exact, "waiting: {} request-ns, waits {} ns", waiting, waits_);
    expect(s_.mean_running <= static_cast<double>(s_.max_running) &&
               s_.max_running <= replicas_ * scenario_.integer("engine.max_num_seqs"),
           "running: mean {}, max {}", s_.mean_running, s_.max_running);
    expect(s_.mean_waiting <= static_cast<double>(s_.max_waiting) && s_.max_waiting <= s_.arrived,
           "waiting: mean {}, max {}", s_.mean_waiting, s_.max_waiting);
  }

  void of_memory() {
    const auto capacity = static_cast<double>(s_.capacity.count() / collector_.slot_bytes());
    double sum = 0;
    for (std::size_t i = 0; i < kMemoryStates; ++i) {
      const auto [mean, peak] = s_.memory[i];
      sum += mean;
      expect(mean >= 0 && mean <= peak + 1e-12 && peak <= 1, "{}: mean {}, peak {}", kMemoryStateNames[i], mean, peak);
    }
    expect(std::abs(sum - 1) < 1e-12, "shares add up to {}", sum);
    expect(s_.largest_free_min_share >= 0 && s_.largest_free_mean_share <= 1, "largest free region {} to {}",
           s_.largest_free_min_share, s_.largest_free_mean_share);

    const std::string& strategy = scenario_.choice("kv_cache.strategy");
    const auto& tail = share(s_, MemoryState::tail);
    const auto worst = static_cast<double>(std::max(
        most_unfilled_.value_or(0), widest_ * (scenario_.tokens("kv_cache.block_size").count() - 1)));  // of a request
    if (strategy == "paged") {
      // Those who wait have blocks while they are copied out, or where they lose only their last.
      const bool waiting_too = scenario_.boolean("preemption.overlap") || scenario_.boolean("preemption.tail_blocks");
      const double mean = s_.mean_running + (waiting_too ? s_.mean_waiting : 0);
      const std::int64_t most = s_.max_running + (waiting_too ? s_.max_waiting : 0);
      expect(tail.mean_share * capacity <= worst * mean * (1 + 1e-11), "tail {} slots, {} with blocks",
             tail.mean_share * capacity, mean);
      expect(std::llround(tail.peak_share * capacity) <= std::llround(worst) * most, "tail {} slots, {} with blocks",
             tail.peak_share * capacity, most);
    }
    const auto absent = [&](std::initializer_list<MemoryState> states) {
      for (const MemoryState state : states) {
        expect(share(s_, state).peak_share == 0, "{} under {}", kMemoryStateNames[static_cast<std::size_t>(state)],
               strategy);
      }
    };
    if (strategy != "contiguous") absent({MemoryState::over_reserved, MemoryState::external});
    if (strategy != "contiguous" && strategy != "virtual" && !most_unfilled_) absent({MemoryState::padding});
    // On pages only an engine that takes all blocks of a prompt before its chunks are computed holds any for later.
    if (strategy == "none" || strategy == "virtual" ||
        (strategy == "paged" && scenario_.choice("engine.scheduler") != "vllm-v0")) {
      absent({MemoryState::reserved});
    }
    if (strategy != "paged" && strategy != "virtual") absent({MemoryState::tail, MemoryState::cached});
    if (strategy == "none") absent({MemoryState::live});
  }

  // What goes to the host comes back, but for requests that end there, for parts computed again after all, and for what
  // the prefix cache has. The link is shared with the tiers below it.
  void of_swaps() {
    const metrics::SwapTraffic all = s_.swap.total();
    const std::int64_t block_bytes = all.out_blocks > Blocks(0) ? all.out_bytes.count() / all.out_blocks.count() : 0;
    expect(all.out_bytes == Bytes(block_bytes * all.out_blocks.count()) &&
               all.in_bytes == Bytes(block_bytes * all.in_blocks.count()),
           "{} bytes out, {} in, by blocks of {}", all.out_bytes.count(), all.in_bytes.count(), block_bytes);
    expect(all.in_blocks <= all.out_blocks, "{} blocks out, {} in", all.out_blocks.count(), all.in_blocks.count());
    const bool all_come_back = whole() && s_.timed_out == 0 && ignored_ == 0 &&
                               !scenario_.boolean("preemption.tail_blocks") && !s_.prefix_cache_work;
    expect(!all_come_back || all.in_blocks == all.out_blocks, "{} blocks out, {} in", all.out_blocks.count(),
           all.in_blocks.count());
    // A preemption is by swap if its first blocks went to the host; those that follow are no preemption.
    const Blocks by_preemption =
        all.out_blocks - s_.swap.by_cause[static_cast<std::size_t>(SwapCause::more)].out_blocks;
    expect(s_.preemptions_by_swap <= s_.preemptions && (s_.preemptions_by_swap > 0) == (by_preemption > Blocks(0)),
           "{} of {} preemptions by swap, {} blocks out by them", s_.preemptions_by_swap, s_.preemptions,
           by_preemption.count());
    expect(0 <= s_.swap.host_live_mean_share && s_.swap.host_live_mean_share <= s_.swap.host_live_peak_share + 1e-12 &&
               s_.swap.host_live_peak_share <= 1,
           "host pool: live {} on average, {} at its peak", s_.swap.host_live_mean_share, s_.swap.host_live_peak_share);
    const auto busy_out = s_.swap.out_busy.value_or(metrics::SwapUse::Busy{});
    const auto busy_in = s_.swap.in_busy.value_or(metrics::SwapUse::Busy{});
    const double out = busy_out.mean_share;
    const double in = busy_in.mean_share;
    const double both = scenario_.boolean("hardware.links.host.shared") ? out + in : std::max(out, in);
    expect(out >= 0 && in >= 0 && both <= 1 + 1e-12, "the link is busy {} out, {} in", out, in);
    const bool swaps_alone = !s_.prefix_cache_work || s_.prefix_cache_work->ledger.tiers.empty();
    expect((out > 0) == (all.out_blocks > Blocks(0)) || !whole() || !swaps_alone, "{} blocks out, busy {}",
           all.out_blocks.count(), out);
    for (const metrics::SwapUse::Busy& busy : {busy_out, busy_in}) {
      expect(busy.mean_share <= busy.peak_share + 1e-12 && busy.peak_share <= 1 + 1e-12,
             "the link is busy {} of the time, {} at most", busy.mean_share, busy.peak_share);
    }
    expect(s_.swap.engine_waited_s <= static_cast<double>(replicas_) * s_.makespan_s + 1e-9,
           "waited {} s for the link in {} s", s_.swap.engine_waited_s, s_.makespan_s);
  }

  // What the prefix cache found adds up, and no tier below the GPU or link to it did more than it can.
  void of_tiers() {
    if (!s_.prefix_cache_work) return;
    const metrics::PrefixCacheWork& work = *s_.prefix_cache_work;
    expect(work.hit_tokens() == s_.prefix_cache.hit_tokens, "found {} tokens by cause, {} in all", work.hit_tokens(),
           s_.prefix_cache.hit_tokens);
    std::int64_t below = 0;
    for (const TierLedger& tier : work.ledger.tiers) {
      below += tier.hit_tokens;
      expect(0 <= tier.used_blocks && tier.used_blocks <= tier.capacity_blocks &&
                 tier.prefetched_blocks <= tier.read_blocks,
             "{}: {} of {} blocks used, {} of {} read prefetched", tier.name, tier.used_blocks, tier.capacity_blocks,
             tier.prefetched_blocks, tier.read_blocks);
    }
    expect(below == work.ledger.hit_tokens[static_cast<std::size_t>(HitCause::host_tier)],
           "found {} tokens below the GPU, {} by tier", work.ledger.hit_tokens[3], below);
    for (const metrics::PrefixCacheWork::LinkUse& link : work.tier_links) {
      expect(link.out_busy_share >= 0 && link.out_busy_share <= 1 + 1e-9 && link.in_busy_share >= 0 &&
                 link.in_busy_share <= 1 + 1e-9,
             "a tier's link is busy {} out, {} in", link.out_busy_share, link.in_busy_share);
    }
  }

  // Each has its part of all, and of the time.
  void of_replicas() {
    const auto count = static_cast<std::int64_t>(s_.replicas.size());
    expect(count == (replicas_ == 1 ? 0 : replicas_), "{} replicas in the table, {} in the run", count, replicas_);
    if (replicas_ == 1) return;
    metrics::ReplicaFigures sum;
    for (const metrics::ReplicaFigures& r : s_.replicas) {
      sum.requests += r.requests;
      sum.finished += r.finished;
      sum.output_tokens += r.output_tokens;
      sum.computed_tokens += r.computed_tokens;
      sum.steps += r.steps;
      sum.hit_tokens += r.hit_tokens;
      sum.preemptions += r.preemptions;
      sum.mean_running += r.mean_running;
      sum.mean_waiting += r.mean_waiting;
      expect(r.mean_running <= static_cast<double>(r.max_running) &&
                 r.max_running <= scenario_.integer("engine.max_num_seqs"),
             "a replica runs {} on average, {} at most", r.mean_running, r.max_running);
      expect(r.kv_use >= 0 && r.kv_use <= 1 + 1e-12, "requests hold {} of a pool", r.kv_use);
      expect(std::abs(r.busy_s + r.idle_steps_s + r.idle_s - s_.makespan_s) <= 1e-9 && r.busy_s >= 0 && r.idle_s >= 0,
             "a replica is busy for {} s, idle for {} s of {} s", r.busy_s, r.idle_s, s_.makespan_s);
    }
    const std::int64_t at_the_door = s_.rejected - ignored_;
    expect(sum.requests == s_.arrived - at_the_door && sum.finished == s_.finished, "replicas have {} requests of {}",
           sum.requests, s_.arrived - at_the_door);
    expect(sum.output_tokens == s_.output_tokens && sum.computed_tokens == s_.computed_tokens &&
               sum.steps == s_.steps && sum.hit_tokens == s_.prefix_cache.hit_tokens &&
               sum.preemptions == s_.preemptions,
           "replicas have {} output tokens, {} computed, {} steps, {} found, {} preemptions", sum.output_tokens,
           sum.computed_tokens, sum.steps, sum.hit_tokens, sum.preemptions);
    expect(about(sum.mean_running, s_.mean_running) && about(sum.mean_waiting, s_.mean_waiting),
           "replicas run {} and have {} waiting", sum.mean_running, sum.mean_waiting);
  }

  void of_time_series() {
    const std::int64_t interval = scenario_.time("output.timeseries_interval").count();
    const std::int64_t capacity = s_.capacity.count() / collector_.slot_bytes();
    const auto& rows = collector_.time_series();
    if (rows.empty()) return;  // not asked for
    const std::int64_t whole_intervals = end_ == 0 ? 0 : (end_ - 1) / interval;
    expect(static_cast<std::int64_t>(rows.size()) == whole_intervals + 1, "{} rows for {} ns by {} ns", rows.size(),
           end_, interval);
    std::int64_t tokens = 0;
    std::int64_t computed = 0;
    Bytes out;
    Bytes in;
    std::int64_t preemptions = 0;
    std::int64_t recomputed = 0;
    SimTime waited;
    SimTime copied_out;
    double most_out = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const metrics::TimeSeriesRow& row = rows[i];
      const std::int64_t time = std::min(end_, static_cast<std::int64_t>(i + 1) * interval);
      expect(row.time.count() == time, "row {} at {} ns, not at {}", i, row.time.count(), time);
      expect(row.memory.total() == capacity, "row {}: {} slots of {}", i, row.memory.total(), capacity);
      expect(row.running >= 0 && row.running <= s_.max_running && row.waiting >= 0 && row.waiting <= s_.max_waiting,
             "row {}: {} running, {} waiting", i, row.running, row.waiting);
      expect(row.memory[MemoryState::external] == 0 || row.waiting > 0, "row {}: memory too torn, and nobody waits", i);
      tokens += row.output_tokens;
      computed += row.computed_tokens;
      out += row.swapped_out;
      in += row.swapped_in;
      preemptions += row.preemptions;
      recomputed += row.recomputed_tokens;
      waited += row.waited_on_link;
      copied_out += row.copied_out;
      const SimTime of_links(replicas_ * row.lasted.count());
      if (row.lasted > SimTime(0)) most_out = std::max(most_out, to_seconds(row.copied_out) / to_seconds(of_links));
      expect(row.lasted >= SimTime(0) && std::max({row.waited_on_link, row.copied_out, row.copied_in}) <= of_links,
             "row {} of {} ns: waited {}, copied {} out and {} in", i, row.lasted.count(), row.waited_on_link.count(),
             row.copied_out.count(), row.copied_in.count());
      expect(row.host_live >= Bytes(0) && row.host_live <= s_.swap.host_capacity, "row {}: {} bytes on the host", i,
             row.host_live.count());
    }
    expect(tokens == s_.output_tokens && computed == s_.computed_tokens, "rows have {} of {} tokens, computed {} of {}",
           tokens, s_.output_tokens, computed, s_.computed_tokens);
    expect(out == s_.swap.total().out_bytes && in == s_.swap.total().in_bytes, "rows have {} bytes out, {} in",
           out.count(), in.count());
    expect(preemptions == s_.preemptions && recomputed == s_.recomputed_tokens, "rows have {} preemptions, {} tokens",
           preemptions, recomputed);
    expect(to_seconds(waited) == s_.swap.engine_waited_s, "rows have {} ns of waiting on the link", waited.count());
    if (!s_.swap.out_busy) return;
    const double links_s = static_cast<double>(replicas_) * s_.makespan_s;
    const double peak = s_.swap.out_busy->peak_share;  // of one link
    expect(std::abs(to_seconds(copied_out) - s_.swap.out_busy->mean_share * links_s) <= 1e-9 * links_s &&
               (replicas_ == 1 ? std::abs(most_out - peak) <= 1e-9 : most_out <= peak + 1e-9),
           "rows have {} ns of copies out, {} at most", copied_out.count(), most_out);
  }

  const Summary& s_;
  const metrics::Collector& collector_;
  const std::vector<RequestRecord>& records_;
  const scenario::Document& scenario_;
  const Workload work_;
  const std::optional<std::int64_t> most_unfilled_;
  const std::int64_t replicas_;
  const std::int64_t end_;  // ns; the first request arrives at 0
  std::vector<std::string> broken_;

  std::int64_t preemptions_ = 0;
  std::int64_t recomputed_ = 0;
  std::int64_t prompts_ = 0;
  std::int64_t generated_ = 0;
  std::int64_t true_end_ = 0;
  std::int64_t gaps_ = 0;
  std::int64_t stalls_ = 0;
  std::int64_t waiting_ = 0;
  std::int64_t ignored_ = 0;
  std::int64_t widest_ = 1;  // most samples of a request
  double gaps_ns_ = 0;
  double sojourns_ = 0;  // ns; whole numbers, exact below 2^53
  double waits_ = 0;
  bool preempted_ = false;
};

}  // namespace

std::vector<std::string> broken_laws(const serving::RunResult& result, const scenario::Document& scenario) {
  return Laws(result, scenario).broken();
}

}  // namespace blockyard::serving_tests
