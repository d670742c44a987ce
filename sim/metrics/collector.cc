#include "sim/metrics/collector.h"

#include <algorithm>

namespace blockyard::metrics {

Collector::Collector(const Options& options) : options_(options) {
  if (options.timeseries_interval > SimTime(0)) next_tick_ = options.timeseries_interval;
}

RecordId Collector::arrived(SimTime now, Tokens prompt) {
  RequestRecord r;
  r.arrival = now;
  r.prompt_tokens = static_cast<std::int32_t>(prompt.count());
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

void Collector::preempted(RecordId id, SimTime /*now*/) {
  ++record(id).preemptions;
  ++preemptions_;
}

void Collector::recomputed(RecordId id, Tokens tokens) {
  record(id).recomputed_tokens += static_cast<std::int32_t>(tokens.count());
  recomputed_tokens_ += tokens.count();
}

void Collector::finished(RecordId id, SimTime now, Tokens generated) {
  end(id, now, Outcome::finished);
  record(id).generated_tokens = static_cast<std::int32_t>(generated.count());
}

void Collector::emit_rows(SimTime now) {
  for (; next_tick_ <= now; next_tick_ += options_.timeseries_interval) {
    rows_.push_back({next_tick_, running_, waiting_, memory_, largest_free_, output_tokens_ - output_at_row_,
                     computed_tokens_ - computed_at_row_});
    output_at_row_ = output_tokens_;
    computed_at_row_ = computed_tokens_;
  }
}

bool Collector::meets_slo(const RequestRecord& r) const {
  const Slo& slo = options_.slo;
  if (slo.ttft && r.first_token - r.arrival > *slo.ttft) return false;
  if (slo.e2e && r.ended - r.arrival > *slo.e2e) return false;
  // tpot <= limit, without the division: last - first <= limit x gaps.
  return !slo.tpot || r.ended - r.first_token <= *slo.tpot * (r.generated_tokens - 1);
}

void Collector::summarise_requests(Summary& s) const {
  std::vector<std::int64_t> times;
  times.reserve(records_.size());
  const auto of_finished = [&](auto value) {
    times.clear();
    for (const RequestRecord& r : records_) {
      if (r.outcome == Outcome::finished) times.push_back(value(r).count());
    }
    return distribution_of(times);
  };
  s.admission = of_finished([](const RequestRecord& r) { return r.admitted - r.arrival; });
  s.ttft = of_finished([](const RequestRecord& r) { return r.first_token - r.arrival; });
  s.e2e = of_finished([](const RequestRecord& r) { return r.ended - r.arrival; });

  std::vector<double> per_token;
  per_token.reserve(records_.size());
  times.clear();
  std::int64_t good = 0;
  std::int64_t stall_ns = 0;
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
    if (r.preemptions > 0) {
      times.push_back(r.stall.count());
      stall_ns += r.stall.count();
    }
    if (r.outcome != Outcome::finished) continue;
    if (r.generated_tokens > 1) {
      per_token.push_back(static_cast<double>((r.ended - r.first_token).count()) / (r.generated_tokens - 1));
    }
    good += meets_slo(r) ? 1 : 0;
  }
  s.tpot = distribution_of(per_token);
  s.preempted_requests = static_cast<std::int64_t>(times.size());
  s.total_stall_s = static_cast<double>(stall_ns) / 1e9;
  s.stall = distribution_of(times);
  s.slo = options_.slo;
  if (options_.slo.any()) s.good_requests = good;
}

void Collector::summarise_memory(Summary& s, double span) const {
  s.capacity = Bytes(options_.capacity_slots * options_.slot_bytes);
  const auto capacity = static_cast<double>(options_.capacity_slots);
  const auto mean = [&](Int128 integral) { return span > 0 ? static_cast<double>(integral) / span : 0; };
  for (std::size_t i = 0; i < kMemoryStates; ++i) {
    s.memory[i] = {mean(memory_integral_[i]) / capacity, static_cast<double>(memory_peak_[i]) / capacity};
  }
  s.largest_free_mean_share = mean(largest_free_integral_) / capacity;
  s.largest_free_min_share = static_cast<double>(largest_free_min_) / capacity;
  s.mean_running = mean(running_integral_);
  s.mean_waiting = mean(waiting_integral_);
}

Summary Collector::summarise() const {
  Int128 all = 0;
  for (const Int128 integral : memory_integral_) all += integral;
  CHECK_LAW(
      all == static_cast<Int128>(options_.capacity_slots) * now_.count(),
      "the memory states' integrals miss the capacity by {} slot-seconds",
      (static_cast<double>(all) - static_cast<double>(options_.capacity_slots) * static_cast<double>(now_.count())) /
          1e9);

  Summary s;
  s.arrived = static_cast<std::int64_t>(records_.size());
  summarise_requests(s);
  CHECK_LAW(s.arrived == s.finished + s.rejected + s.timed_out + s.unfinished,
            "{} arrived, {} + {} + {} + {} accounted for", s.arrived, s.finished, s.rejected, s.timed_out,
            s.unfinished);
  s.itl.count = gaps_.count();
  if (gaps_.count() > 0) {
    s.itl.mean_s = gaps_.mean_s();
    s.itl.p50_s = gaps_.quantile_s(0.5);
    s.itl.p90_s = gaps_.quantile_s(0.9);
    s.itl.p99_s = gaps_.quantile_s(0.99);
    s.itl.max_s = to_seconds(gaps_.max());
  }
  s.prompt_tokens = prompt_tokens_;
  s.output_tokens = output_tokens_;
  s.computed_tokens = computed_tokens_;
  s.recomputed_tokens = recomputed_tokens_;
  s.preemptions = preemptions_;
  s.refused_although_free = refused_although_free_;
  s.steps = steps_;
  s.prefix_cache = prefix_;
  s.swapped_out = swapped_out_;
  s.swapped_in = swapped_in_;
  s.max_running = max_running_;
  s.max_waiting = max_waiting_;

  const SimTime first = records_.empty() ? SimTime(0) : records_.front().arrival;
  s.makespan_s = to_seconds(now_ - first);
  if (s.makespan_s > 0) {
    s.requests_per_s = static_cast<double>(s.finished) / s.makespan_s;
    s.output_tokens_per_s = static_cast<double>(s.output_tokens) / s.makespan_s;
    if (s.good_requests) s.goodput_requests_per_s = static_cast<double>(*s.good_requests) / s.makespan_s;
  }
  summarise_memory(s, static_cast<double>(now_.count()));
  return s;
}

}  // namespace blockyard::metrics
