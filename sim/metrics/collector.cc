#include "sim/metrics/collector.h"

#include <algorithm>

namespace blockyard::metrics {
namespace {
// Two million rows are 240 MB; more is an interval that does not suit the run.
constexpr std::size_t kMostRows = 2'000'000;
}  // namespace

Collector::Collector(const Options& options)
    : options_(options),
      time_(options.front_end),
      links_(static_cast<std::size_t>(options.replicas),
             {BusyTime(), BusyTime(options.peak_interval), BusyTime(options.peak_interval)}) {
  if (options.replicas > 1) add_replicas();
  if (options.timeseries_interval > SimTime(0)) next_tick_ = options.timeseries_interval;
  next_edge_ = options.window_from > SimTime(0) ? options.window_from : options.window_to;
  time_.count_arrivals(options.window_from, options.window_to);
}

// All free, until they tell of themselves.
void Collector::add_replicas() {
  ReplicaState state;
  state.largest_free = state.memory[MemoryState::free] = options_.capacity_slots / options_.replicas;
  replicas_.assign(static_cast<std::size_t>(options_.replicas), state);
  memory_[MemoryState::free] = options_.capacity_slots;
  largest_free_ = state.largest_free;
}

// States add up over replicas; what one request could get is in one of them.
void Collector::add_memory_of(std::size_t replica, const MemoryPartition& memory, std::int64_t largest_free_slots) {
  ReplicaState& of = replicas_[replica];
  of.settle(now_);
  for (std::size_t i = 0; i < kMemoryStates; ++i) memory_.slots[i] += memory.slots[i] - of.memory.slots[i];
  of.memory = memory;
  of.largest_free = largest_free_slots;
  largest_free_ = std::ranges::max_element(replicas_, {}, &ReplicaState::largest_free)->largest_free;
}

RecordId Collector::arrived(SimTime now, Tokens prompt, std::int32_t samples, Sender sender) {
  const SimTime sent = now - options_.front_end;
  if (records_.empty()) start(sent);
  RequestRecord r;
  r.arrival = sent;
  r.prompt_tokens = static_cast<std::int32_t>(prompt.count());
  r.samples = static_cast<std::uint16_t>(samples & 0x1FF);
  r.slo_class = static_cast<std::uint16_t>(sender.slo_class & 0x7F);
  r.tenant = sender.tenant;
  records_.push_back(r);
  prompt_tokens_ += prompt.count();
  return static_cast<RecordId>(records_.size() - 1);
}

void Collector::end(RecordId id, SimTime now, Outcome outcome) {
  RequestRecord& r = record(id);
  CHECK_LAW(r.outcome == Outcome::unfinished, "request {} ends twice: {}, then {}", static_cast<std::size_t>(id),
            name_of(r.outcome), name_of(outcome));
  r.ended = now;
  r.outcome = outcome;
}

void Collector::rejected(RecordId id, SimTime now, RejectReason reason) {
  end(id, now, Outcome::rejected);
  record(id).reason = reason;
}

void Collector::timed_out(RecordId id, SimTime now) { end(id, now, Outcome::timed_out); }

void Collector::preempted(RecordId id, SimTime /*now*/, bool swapped) {
  ++record(id).preemptions;
  ++preemptions_;
  if (!replicas_.empty()) ++replicas_[*replica_of(id)].preemptions;
  if (swapped) ++preemptions_by_swap_;
}

void Collector::restored(RecordId id, SimTime stall, SimTime waiting) {
  CHECK_LAW(SimTime(0) <= waiting && waiting <= stall, "a stall of {} ns, {} of them waiting", stall.count(),
            waiting.count());
  record(id).stall += stall;
  record(id).stall_waiting += waiting;
  stalls_.push_back(stall.count());
}

void Collector::swapped_out(SwapCause cause, Blocks blocks, Bytes bytes) {
  const SwapTraffic traffic{blocks, bytes, Blocks(0), Bytes(0)};
  swaps_[static_cast<std::size_t>(cause)] += traffic;
  swapped_ += traffic;
}

void Collector::swapped_in(SwapCause cause, Blocks blocks, Bytes bytes) {
  const SwapTraffic traffic{Blocks(0), Bytes(0), blocks, bytes};
  swaps_[static_cast<std::size_t>(cause)] += traffic;
  swapped_ += traffic;
}

void Collector::recomputed(RecordId id, Tokens tokens) {
  record(id).recomputed_tokens += static_cast<std::int32_t>(tokens.count());
  recomputed_tokens_ += tokens.count();
}

void Collector::finished(RecordId id, SimTime now, Tokens generated) {
  end(id, now, Outcome::finished);
  record(id).generated_tokens = static_cast<std::int32_t>(generated.count());
}

// What lay free before the first arrival does not count, so that means are over the makespan; nobody waited or ran.
void Collector::start(SimTime now) {
  advance(now);
  first_arrival_ = start_ = now;
  restart_links(now);
  memory_integral_.fill(0);
  largest_free_integral_ = 0;
}

void Collector::restart_links(SimTime now) {
  for (LinkTimes& link : links_) {
    for (BusyTime* busy : {&link.waited, &link.out, &link.in}) busy->restart(now);
  }
}

void Collector::cross_edges(SimTime now) {
  while (now >= next_edge_) {
    const SimTime edge = next_edge_;
    next_edge_ = kNever;
    advance(edge);
    if (edge < options_.window_to) {
      open_window();
      next_edge_ = options_.window_to;
    } else {
      auto closed = std::make_shared<Collector>(*this);
      closed->records_.clear();
      closed->rows_.clear();
      closed->replica_of_.clear();
      closed_ = std::move(closed);
    }
  }
}

// All that adds up begins again; what is, what is kept of requests and the rows of the time series go on.
void Collector::open_window() {
  Collector fresh(options_);
  fresh.records_ = std::move(records_);
  fresh.rows_ = std::move(rows_);
  fresh.time_ = std::move(time_);
  fresh.first_arrival_ = first_arrival_;
  fresh.start_ = fresh.now_ = now_;
  fresh.opened_ = true;
  fresh.next_tick_ = next_tick_;
  fresh.rows_cut_at_ = rows_cut_at_;
  fresh.at_row_ = at_row_;
  fresh.at_row_ -= done(now_);
  fresh.links_ = links_;
  fresh.restart_links(now_);
  fresh.replica_of_ = std::move(replica_of_);
  for (std::size_t i = 0; i < replicas_.size(); ++i) fresh.replicas_[i] = replicas_[i].begun_again(now_);
  fresh.running_ = fresh.max_running_ = running_;
  fresh.waiting_ = fresh.max_waiting_ = waiting_;
  fresh.host_live_ = fresh.host_peak_ = host_live_;
  fresh.memory_ = memory_;
  fresh.memory_peak_ = memory_.slots;
  fresh.largest_free_ = fresh.largest_free_min_ = largest_free_;
  fresh.shares_ = shares_;
  fresh.held_blocks_ = held_blocks_;
  fresh.unshared_blocks_ = unshared_blocks_;
  *this = std::move(fresh);
}

TimeSeriesRow Collector::row(SimTime time) const {
  Done done_since = done(time);
  done_since -= at_row_;
  return {time,
          time - (rows_.empty() ? SimTime(0) : rows_.back().time),
          running_,
          waiting_,
          memory_,
          largest_free_,
          done_since.output_tokens,
          done_since.computed_tokens,
          host_live_,
          done_since.swapped.out_bytes,
          done_since.swapped.in_bytes,
          done_since.preemptions,
          done_since.recomputed_tokens,
          done_since.waited_on_link,
          done_since.copied_out,
          done_since.copied_in,
          options_.replicas};
}

void Collector::emit_rows(SimTime now) {
  for (; next_tick_ < now && rows_.size() < kMostRows; next_tick_ += options_.timeseries_interval) {
    rows_.push_back(row(next_tick_));
    at_row_ = done(next_tick_);
  }
  if (next_tick_ < now) {
    rows_cut_at_ = next_tick_;
    next_tick_ = kNever;
  }
}

std::vector<TimeSeriesRow> Collector::time_series() const {
  std::vector<TimeSeriesRow> rows = rows_;
  if (next_tick_ != kNever || rows_cut_at_) rows.push_back(row(now_));
  return rows;
}

void Collector::summarise_requests(Summary& s) const {
  std::vector<std::int64_t> times;
  times.reserve(records_.size());
  const auto of_finished = [&](auto value) {
    times.clear();
    for (const RequestRecord& r : records_) {
      if (r.outcome == Outcome::finished && counts(r)) times.push_back(value(r).count());
    }
    return distribution_of(times);
  };
  s.admission = of_finished([](const RequestRecord& r) { return r.admitted - r.arrival; });
  s.ttft = of_finished([](const RequestRecord& r) { return r.first_token - r.arrival; });
  s.e2e = of_finished([](const RequestRecord& r) { return r.ended - r.arrival; });

  std::vector<double> ratios;
  ratios.reserve(records_.size());
  const auto of_finished_per_token = [&](auto value, std::int32_t first_not_counted) {
    ratios.clear();
    for (const RequestRecord& r : records_) {
      const std::int32_t tokens = r.generated_tokens - first_not_counted;
      if (r.outcome == Outcome::finished && tokens > 0 && counts(r)) {
        ratios.push_back(static_cast<double>(value(r).count()) / tokens);
      }
    }
    return distribution_of(ratios);
  };
  s.tpot = of_finished_per_token([](const RequestRecord& r) { return r.ended - r.first_token; }, 1);
  s.e2e_per_output_token = of_finished_per_token([](const RequestRecord& r) { return r.ended - r.arrival; }, 0);

  times.clear();
  std::int64_t good = 0;
  SloMisses misses;
  const GroupRules rules{options_.slo, options_.slo_classes};
  std::int64_t stall_ns = 0;
  std::int64_t waiting_ns = 0;
  for (const RequestRecord& r : records_) {
    switch (r.outcome) {
      case Outcome::finished:
        ++s.finished;
        break;
      case Outcome::rejected:
        ++s.rejected;
        ++s.rejected_by_reason[static_cast<std::size_t>(r.reason)];
        break;
      case Outcome::timed_out:
        ++s.timed_out;
        break;
      case Outcome::unfinished:
        ++s.unfinished;
        break;
    }
    if (!counts(r)) continue;
    if (r.preemptions > 0) {
      times.push_back(r.stall.count());
      stall_ns += r.stall.count();
      waiting_ns += r.stall_waiting.count();
    }
    if (count_misses(rules.slo_of(r), r, misses)) ++good;
  }
  s.preempted_requests = static_cast<std::int64_t>(times.size());
  s.total_stall_s = static_cast<double>(stall_ns) / 1e9;
  s.stall_waiting_s = static_cast<double>(waiting_ns) / 1e9;
  s.stall_restoring_s = static_cast<double>(stall_ns - waiting_ns) / 1e9;
  s.stall = distribution_of(times);
  times = state().stalls_;
  s.each_stall = distribution_of(times);
  s.slo = options_.slo;
  if (!rules.any_limit()) return;
  s.good_requests = good;
  s.misses = misses;
}

void Collector::summarise_gaps(Summary& s) const {
  s.itl.count = gaps_.count();
  s.gap_threshold = options_.gap_threshold;
  s.gaps_over_threshold = long_gaps_;
  if (gaps_.count() == 0) return;
  s.itl.mean_s = gaps_.mean_s();
  s.itl.p50_s = gaps_.quantile_s(0.5);
  s.itl.p90_s = gaps_.quantile_s(0.9);
  s.itl.p99_s = gaps_.quantile_s(0.99);
  s.itl.max_s = to_seconds(gaps_.max());
}

void Collector::summarise_state(Summary& s) const {
  const std::int64_t span = (now_ - start_).count();
  Int128 all = 0;
  for (const Int128 integral : memory_integral_) all += integral;
  const Int128 whole = static_cast<Int128>(options_.capacity_slots) * span;
  CHECK_LAW(all == whole, "the memory states' integrals miss the capacity by {} slot-seconds",
            static_cast<double>(all - whole) / 1e9);

  s.capacity = Bytes(options_.capacity_slots * options_.slot_bytes);
  const auto capacity = static_cast<double>(options_.capacity_slots);
  // A run that is over in the instant in which it began has the mean of that instant.
  const auto mean = [&](Int128 integral, std::int64_t present) {
    return span > 0 ? static_cast<double>(integral) / static_cast<double>(span) : static_cast<double>(present);
  };
  for (std::size_t i = 0; i < kMemoryStates; ++i) {
    s.memory[i] = {mean(memory_integral_[i], memory_.slots[i]) / capacity,
                   static_cast<double>(memory_peak_[i]) / capacity};
  }
  s.largest_free_mean_share = mean(largest_free_integral_, largest_free_) / capacity;
  s.largest_free_min_share = static_cast<double>(largest_free_min_) / capacity;
  if (unshared_integral_ > 0) {
    s.shared_blocks_saved =
        static_cast<double>(unshared_integral_ - held_integral_) / static_cast<double>(unshared_integral_);
  }
  s.mean_running = mean(running_integral_, running_);
  s.mean_waiting = mean(waiting_integral_, waiting_);
  s.max_running = max_running_;
  s.max_waiting = max_waiting_;
}

void Collector::summarise_swaps(Summary& s) const {
  s.preemptions_by_swap = preemptions_by_swap_;
  s.swap.by_cause = swaps_;
  s.swap.engine_waited_s = to_seconds(on_links(&LinkTimes::waited, now_));
  s.swap.host_capacity = options_.host_capacity;
  if (options_.host_capacity == Bytes(0)) return;
  const auto capacity = static_cast<double>(options_.host_capacity.count());
  const auto span = static_cast<double>((now_ - start_).count());
  s.swap.host_live_mean_share = span > 0 ? static_cast<double>(host_integral_) / span / capacity : 0;
  // Of several links the mean, and the peak of one.
  const auto busy = [&](BusyTime LinkTimes::* what) {
    double peak = 0;
    for (const LinkTimes& link : links_) peak = std::max(peak, (link.*what).busiest_share(now_));
    const auto links = static_cast<double>(links_.size());
    return SwapUse::Busy{static_cast<double>(on_links(what, now_).count()) / (links * span), peak};
  };
  s.swap.peak_interval_s = to_seconds(options_.peak_interval);
  if (span > 0) {
    s.swap.out_busy = busy(&LinkTimes::out);
    s.swap.in_busy = busy(&LinkTimes::in);
  }
  s.swap.host_live_peak_share = static_cast<double>(host_peak_.count()) / capacity;
}

void Collector::summarise_replicas(Summary& s) const {
  const Collector& of = state();
  const SimTime span = of.now_ - of.start_;
  const auto mean = [&](Int128 integral) {
    return span > SimTime(0) ? static_cast<double>(integral) / static_cast<double>(span.count()) : 0;
  };
  for (ReplicaState r : of.replicas_) {
    r.settle(of.now_);
    const double kv_use =
        static_cast<double>(options_.replicas) * mean(r.owned_integral) / static_cast<double>(options_.capacity_slots);
    s.replicas.push_back({.output_tokens = r.output_tokens,
                          .computed_tokens = r.computed_tokens,
                          .steps = r.step_count,
                          .mean_running = mean(r.running_integral),
                          .max_running = r.max_running,
                          .mean_waiting = mean(r.waiting_integral),
                          .kv_use = kv_use,
                          .looked_up_tokens = r.looked_up_tokens,
                          .hit_tokens = r.hit_tokens,
                          .preemptions = r.preemptions,
                          .busy_s = to_seconds(r.busy),
                          .idle_steps_s = to_seconds(r.idle_steps),
                          .idle_s = to_seconds(span - r.busy - r.idle_steps)});
  }
  if (s.replicas.empty()) return;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const auto replica = replica_of(static_cast<RecordId>(i));
    if (!replica) continue;
    ReplicaFigures& row = s.replicas[*replica];
    ++row.requests;
    row.prompt_tokens += records_[i].prompt_tokens;
    if (records_[i].outcome == Outcome::finished) ++row.finished;
  }
}

// Over the makespan, or the window.
void Collector::summarise_rates(Summary& s) const {
  std::int64_t finished = s.finished;
  Seconds span = s.makespan_s;
  if (windowed()) {
    const SimTime to = state().now_;
    const auto within = [&](SimTime time) { return time >= options_.window_from && time < options_.window_to; };
    const auto count = [&](auto what) { return static_cast<std::int64_t>(std::ranges::count_if(records_, what)); };
    StatisticsWindow window{to_seconds(state().start_ - first_arrival_), to_seconds(to - first_arrival_)};
    window.arrived = count([&](const RequestRecord& r) { return counts(r); });
    window.finished = finished =
        count([&](const RequestRecord& r) { return r.outcome == Outcome::finished && within(r.ended); });
    span = window.to_s - window.from_s;
    s.window = window;
  }
  if (span <= 0) return;
  s.requests_per_s = static_cast<double>(finished) / span;
  s.output_tokens_per_s = static_cast<double>(s.output_tokens) / span;
  if (s.good_requests) s.goodput_requests_per_s = static_cast<double>(*s.good_requests) / span;
}

void Collector::summarise_groups(Summary& s) const {
  const auto first = records_.begin();
  const bool one_tenant =
      std::ranges::all_of(records_, [&](const RequestRecord& r) { return r.tenant == first->tenant; });
  if (one_tenant && options_.slo_classes.empty()) return;
  Records records;
  records.reserve(records_.size());
  for (const RequestRecord& r : records_) {
    if (counts(r)) records.push_back(&r);
  }
  const GroupRules rules{options_.slo, options_.slo_classes,
                         s.window ? s.window->to_s - s.window->from_s : s.makespan_s};
  s.slo_classes = by_class(records, rules);
  s.tenants = by_tenant(records, rules);
}

Summary Collector::summarise() const {
  Summary s;
  const Collector& of = state();
  s.arrived = static_cast<std::int64_t>(records_.size());
  summarise_requests(s);
  CHECK_LAW(s.arrived == s.finished + s.rejected + s.timed_out + s.unfinished,
            "{} arrived, {} + {} + {} + {} accounted for", s.arrived, s.finished, s.rejected, s.timed_out,
            s.unfinished);
  of.summarise_gaps(s);
  of.summarise_state(s);
  s.time = time_.of_finished();
  s.time_timed_out = time_.of_timed_out();
  s.prompt_tokens = of.prompt_tokens_;
  s.output_tokens = of.output_tokens_;
  s.computed_tokens = of.computed_tokens_;
  s.recomputed_tokens = of.recomputed_tokens_;
  s.preemptions = of.preemptions_;
  s.refused_although_free = of.refused_although_free_;
  s.steps = of.steps_;
  s.prefix_cache = of.prefix_;
  s.memory_work = of.memory_work_;
  s.pipeline = of.pipeline_;
  s.pipeline.stages = options_.pipeline_stages;
  of.summarise_swaps(s);
  summarise_replicas(s);
  s.makespan_s = to_seconds(now_ - first_arrival_);
  summarise_rates(s);
  summarise_groups(s);
  s.warnings = warnings_of(s);
  if (options_.window_from > SimTime(0) && !windowed()) {
    s.warnings.push_back(fmt::format("the run was over before its warm-up of {:.6g} s: figures are of all of it",
                                     to_seconds(options_.window_from)));
  }
  if (rows_cut_at_) {
    s.warnings.push_back(
        fmt::format("the time series ends after {} rows, at {:.6g} s; its last row holds the rest of the run. A longer "
                    "output.timeseries_interval covers it",
                    kMostRows, to_seconds(*rows_cut_at_)));
  }
  return s;
}

}  // namespace blockyard::metrics
