// What happened, as it is told. With a window, statistics are of it alone: latencies of the requests that arrived in
// it, however long they took, all else of what happened in it, its beginning included and its end not; records, rows of
// the time series and the conservation of requests are of the whole run. Events of requests go into records; the state
// between events is piecewise constant and is integrated by advance(now), exactly, in integers, from the first arrival
// on. Laws: arrived == finished + rejected + timed out + unfinished; over the states of memory the integrals add up to
// capacity x span; over the rows of the time series the tokens add up to the totals. Cost: O(1) a call, about 27 ns in
// all for a step; nothing is allocated but for new records and rows. summarise: O(requests), about 0.16 s for a
// million.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/base/busy_time.h"
#include "sim/base/check.h"
#include "sim/base/memory_states.h"
#include "sim/base/swap_cause.h"
#include "sim/metrics/gap_histogram.h"
#include "sim/metrics/record.h"
#include "sim/metrics/replica_state.h"
#include "sim/metrics/summary.h"
#include "sim/metrics/time_ledger.h"

namespace blockyard::metrics {

// The state at an instant, after all that happened at it, and what was done in the interval that ends there, the
// instant included. Rows stand at the multiples of the interval; the last one stands at the end of the run.
struct TimeSeriesRow {
  SimTime time;
  SimTime lasted;  // the interval
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  MemoryPartition memory;
  std::int64_t largest_free_slots = 0;
  std::int64_t output_tokens = 0;
  std::int64_t computed_tokens = 0;
  Bytes host_live;
  Bytes swapped_out;
  Bytes swapped_in;
  std::int64_t preemptions = 0;
  std::int64_t recomputed_tokens = 0;
  SimTime waited_on_link;  // this and the next two: of all replicas
  SimTime copied_out;      // time in which the host link did
  SimTime copied_in;
  std::int64_t links = 1;
};

class Collector {
 public:
  struct Options {
    SimTime timeseries_interval;     // 0 = no time series
    SimTime peak_interval = kNever;  // of which peaks are sought of what has no size at an instant
    Slo slo;
    std::vector<SloClass> slo_classes{};  // that requests name, from 1
    std::int64_t slot_bytes = 1;          // KV of one token over a whole replica
    std::int64_t capacity_slots = 0;      // of all replicas, each as much
    SimTime gap_threshold = kNever;       // longer gaps are counted
    Bytes host_capacity = Bytes(0);       // of the pool that swaps go to
    SimTime front_end = SimTime(0);       // between a client's sending and the engine's hearing of it
    SimTime window_from = SimTime(0);
    SimTime window_to = kNever;
    std::int64_t pipeline_stages = 1;
    std::int64_t replicas = 1;
  };

  explicit Collector(const Options& options);

  // Who sends a request.
  struct Sender {
    std::uint32_t tenant = 0;
    std::uint8_t slo_class = 0;
  };
  // The engine hears of a request that its client sent `front_end` ago: that is its arrival in every figure.
  RecordId arrived(SimTime now, Tokens prompt, std::int32_t samples, Sender sender);
  RecordId arrived(SimTime now, Tokens prompt) { return arrived(now, prompt, 1, {}); }
  // Of several replicas, the one that it is let in to.
  void routed(RecordId id, std::size_t replica) {
    if (replicas_.empty()) return;
    replica_of_.resize(records_.size(), kNowhere);
    replica_of_[static_cast<std::size_t>(id)] = static_cast<std::uint16_t>(replica);
  }
  void rejected(RecordId id, SimTime now, RejectReason reason);
  void timed_out(RecordId id, SimTime now);
  void admitted(RecordId id, SimTime now) { record(id).admitted = now; }
  void first_token(RecordId id, SimTime now) { record(id).first_token = now; }
  void preempted(RecordId id, SimTime now, bool swapped);
  // A stall is over; for `waiting` of it the request had no seat.
  void restored(RecordId id, SimTime stall, SimTime waiting);
  void swapped_out(SwapCause cause, Blocks blocks, Bytes bytes);
  void swapped_in(SwapCause cause, Blocks blocks, Bytes bytes);
  // The engine waits for copies, and the host link copies, from one instant, not in the past, to another: each in
  // order.
  void waits_on_link(std::size_t replica, SimTime from, SimTime until) {
    links_[replica].waited.add(now_, from, until);
  }
  void copies_out(std::size_t replica, SimTime from, SimTime until) { links_[replica].out.add(now_, from, until); }
  void copies_in(std::size_t replica, SimTime from, SimTime until) { links_[replica].in.add(now_, from, until); }
  void recomputed(RecordId id, Tokens tokens);
  void finished(RecordId id, SimTime now, Tokens generated);
  // Of admitted requests: tokens looked up in the prefix cache and found, and both by requests that resumed.
  void prefix_lookups(std::size_t replica, std::int64_t looked_up, std::int64_t hit, std::int64_t looked_up_resumed,
                      std::int64_t hit_resumed) {
    if (!replicas_.empty()) {
      replicas_[replica].looked_up_tokens += looked_up;
      replicas_[replica].hit_tokens += hit;
    }
    prefix_.looked_up_tokens += looked_up;
    prefix_.hit_tokens += hit;
    prefix_.looked_up_tokens_resumed += looked_up_resumed;
    prefix_.hit_tokens_resumed += hit_resumed;
  }
  void memory_work(const MemoryWork& work) {
    memory_work_.copied += work.copied;
    memory_work_.compactions += work.compactions;
    memory_work_.pages_mapped += work.pages_mapped;
    memory_work_.pages_unmapped += work.pages_unmapped;
    memory_work_.time += work.time;
  }
  void refused_although_free() { ++refused_although_free_; }
  // A batch has passed the pipeline: the time since the one before had, or since it entered, and what the stages spent.
  void passed_pipeline(SimTime under_way, SimTime computing, SimTime sending) {
    pipeline_.under_way += under_way;
    pipeline_.computing += computing;
    pipeline_.sending += sending;
  }

  // `count` tokens that came `gap` after the one before them.
  void token_gap(SimTime gap, std::int64_t count) {
    gaps_.add(gap, count);
    if (gap > options_.gap_threshold) long_gaps_ += count;
  }
  // A step has ended.
  void step(std::size_t replica, std::int64_t computed_tokens, std::int64_t output_tokens) {
    if (!replicas_.empty()) {
      ReplicaState& of = replicas_[replica];
      ++of.step_count;
      of.computed_tokens += computed_tokens;
      of.output_tokens += output_tokens;
    }
    ++steps_;
    computed_tokens_ += computed_tokens;
    output_tokens_ += output_tokens;
  }

  // Where each request's time goes; told by the replica beside the calls above.
  [[nodiscard]] TimeLedger& time(std::size_t replica) { return time_.of(replica); }
  [[nodiscard]] TimeLedger& time() { return time_; }
  [[nodiscard]] const TimeLedger& time() const { return time_; }
  // It has ended, and so has its row of the time ledger.
  void close_time(RecordId id) { time_.of(replica_of(id).value_or(0)).ended(id, record(id)); }

  // The state since the last call has lasted until `now`. To be called before every change of state.
  void advance(SimTime now) {
    if (now >= next_edge_) [[unlikely]]
      cross_edges(now);
    const std::int64_t lasted = (now - now_).count();
    if (lasted == 0) return;
    CHECK_LAW(lasted > 0, "time went back from {} ns to {} ns", now_.count(), now.count());
    if (now > next_tick_) emit_rows(now);
    for (std::size_t i = 0; i < kMemoryStates; ++i)
      memory_integral_[i] += static_cast<Int128>(memory_.slots[i]) * lasted;
    largest_free_integral_ += static_cast<Int128>(largest_free_) * lasted;
    running_integral_ += static_cast<Int128>(running_) * lasted;
    waiting_integral_ += static_cast<Int128>(waiting_) * lasted;
    host_integral_ += static_cast<Int128>(host_live_.count()) * lasted;
    if (shares_) {
      held_integral_ += static_cast<Int128>(held_blocks_) * lasted;
      unshared_integral_ += static_cast<Int128>(unshared_blocks_) * lasted;
    }
    now_ = now;
  }
  // Blocks held, and those that would be if the sequences of a request shared none. Told only of memory that shares.
  void set_sharing(std::size_t replica, Blocks held, Blocks unshared) {
    shares_ = true;
    held_blocks_ = of_all(replica, &ReplicaState::held_blocks, held_blocks_, held.count());
    unshared_blocks_ = of_all(replica, &ReplicaState::unshared_blocks, unshared_blocks_, unshared.count());
  }
  void set_running(std::size_t replica, std::int64_t running) {
    running_ = of_all(replica, &ReplicaState::running, running_, running);
    if (running_ > max_running_) max_running_ = running_;
  }
  void set_waiting(std::size_t replica, std::int64_t waiting) {
    waiting_ = of_all(replica, &ReplicaState::waiting, waiting_, waiting);
    if (waiting_ > max_waiting_) max_waiting_ = waiting_;
  }
  void set_host(std::size_t replica, Bytes live) {
    host_live_ = Bytes(of_all(replica, &ReplicaState::host_live, host_live_.count(), live.count()));
    if (host_live_ > host_peak_) host_peak_ = host_live_;
  }
  void set_memory(std::size_t replica, const MemoryPartition& memory, std::int64_t largest_free_slots) {
    if (replicas_.empty()) [[likely]] {
      memory_ = memory;
      largest_free_ = largest_free_slots;
    } else {
      add_memory_of(replica, memory, largest_free_slots);
    }
    for (std::size_t i = 0; i < kMemoryStates; ++i) {
      memory_peak_[i] = memory_.slots[i] > memory_peak_[i] ? memory_.slots[i] : memory_peak_[i];
    }
    if (largest_free_ < largest_free_min_) largest_free_min_ = largest_free_;
  }
  // Of several replicas: whether a step is under way, and computes for a request of this one.
  void set_stepping(std::size_t replica, bool steps, bool idly) {
    if (replicas_.empty()) return;
    ReplicaState& of = replicas_[replica];
    of.settle(now_);
    of.steps = steps;
    of.steps_idly = idly;
  }

  // Everything up to the last advance(); `identity` and the marks of an early end are filled in by the caller.
  [[nodiscard]] Summary summarise() const;
  [[nodiscard]] const std::vector<RequestRecord>& records() const { return records_; }
  // Up to the last advance(); empty if there is no interval.
  [[nodiscard]] std::vector<TimeSeriesRow> time_series() const;
  [[nodiscard]] std::int64_t slot_bytes() const { return options_.slot_bytes; }
  [[nodiscard]] bool several_replicas() const { return !replicas_.empty(); }
  // None with a single replica, or of one turned away at the door.
  [[nodiscard]] std::optional<std::uint16_t> replica_of(RecordId id) const {
    const auto index = static_cast<std::size_t>(id);
    if (index >= replica_of_.size() || replica_of_[index] == kNowhere) return std::nullopt;
    return replica_of_[index];
  }
  [[nodiscard]] std::string_view slo_class_of(const RequestRecord& r) const {
    return r.slo_class == 0 ? std::string_view() : options_.slo_classes[r.slo_class - 1U].name;
  }

 private:
  static constexpr std::uint16_t kNowhere = UINT16_MAX;

  // What the host link of a replica did, and how long its engine waited for it.
  struct LinkTimes {
    BusyTime waited;
    BusyTime out;
    BusyTime in;
  };

  // The sum over all replicas, `sum` before this one said `now`.
  std::int64_t of_all(std::size_t replica, std::int64_t ReplicaState::* what, std::int64_t sum, std::int64_t now) {
    if (replicas_.empty()) [[likely]]
      return now;
    ReplicaState& of = replicas_[replica];
    of.settle(now_);
    sum += now - of.*what;
    of.*what = now;
    if (of.running > of.max_running) of.max_running = of.running;
    return sum;
  }
  [[nodiscard]] SimTime on_links(BusyTime LinkTimes::* what, SimTime time) const {
    SimTime sum;
    for (const LinkTimes& link : links_) sum += (link.*what).until(time);
    return sum;
  }

  RequestRecord& record(RecordId id) { return records_[static_cast<std::size_t>(id)]; }
  void add_memory_of(std::size_t replica, const MemoryPartition& memory, std::int64_t largest_free_slots);
  void add_replicas();
  void start(SimTime now);
  void restart_links(SimTime now);
  void cross_edges(SimTime now);
  void open_window();
  // The state that statistics are of: at the end of the window, if the run has gone on.
  [[nodiscard]] const Collector& state() const { return closed_ ? *closed_ : *this; }
  [[nodiscard]] bool windowed() const { return opened_ || closed_ != nullptr; }
  [[nodiscard]] bool counts(const RequestRecord& r) const {
    return !windowed() || (r.arrival >= options_.window_from && r.arrival < options_.window_to);
  }
  void emit_rows(SimTime now);
  // What rows of the time series count since the row before.
  struct Done {
    std::int64_t output_tokens = 0;
    std::int64_t computed_tokens = 0;
    SwapTraffic swapped;
    std::int64_t preemptions = 0;
    std::int64_t recomputed_tokens = 0;
    SimTime waited_on_link;
    SimTime copied_out;
    SimTime copied_in;

    Done& operator-=(const Done& other) {
      output_tokens -= other.output_tokens;
      computed_tokens -= other.computed_tokens;
      swapped -= other.swapped;
      preemptions -= other.preemptions;
      recomputed_tokens -= other.recomputed_tokens;
      waited_on_link -= other.waited_on_link;
      copied_out -= other.copied_out;
      copied_in -= other.copied_in;
      return *this;
    }
  };
  // By `time`, at which the state of now_ lasted still.
  [[nodiscard]] Done done(SimTime time) const {
    return {output_tokens_,
            computed_tokens_,
            swapped_,
            preemptions_,
            recomputed_tokens_,
            on_links(&LinkTimes::waited, time),
            on_links(&LinkTimes::out, time),
            on_links(&LinkTimes::in, time)};
  }
  [[nodiscard]] TimeSeriesRow row(SimTime time) const;
  void end(RecordId id, SimTime now, Outcome outcome);
  void summarise_requests(Summary& s) const;
  void summarise_rates(Summary& s) const;
  void summarise_groups(Summary& s) const;
  void summarise_gaps(Summary& s) const;
  void summarise_state(Summary& s) const;
  void summarise_swaps(Summary& s) const;
  void summarise_replicas(Summary& s) const;

  Options options_;
  std::vector<RequestRecord> records_;
  std::vector<TimeSeriesRow> rows_;
  Done at_row_;  // the last of rows_
  GapHistogram gaps_;
  TimeLedger time_;

  SimTime first_arrival_;
  SimTime start_;  // of what is integrated: first arrival, or the beginning of the window
  SimTime now_;
  SimTime next_edge_ = kNever;               // of the window
  bool opened_ = false;                      // the window begins after the run and has begun
  std::shared_ptr<const Collector> closed_;  // this one as it was at the end of the window, without records
  SimTime next_tick_ = kNever;
  std::optional<SimTime> rows_cut_at_;  // where rows became too many
  std::int64_t running_ = 0;
  std::int64_t waiting_ = 0;
  MemoryPartition memory_;
  std::int64_t largest_free_ = 0;
  std::array<Int128, kMemoryStates> memory_integral_{};
  Int128 largest_free_integral_ = 0;
  Int128 running_integral_ = 0;
  Int128 waiting_integral_ = 0;
  Bytes host_live_;
  Bytes host_peak_;
  Int128 host_integral_ = 0;
  bool shares_ = false;
  std::int64_t held_blocks_ = 0;
  std::int64_t unshared_blocks_ = 0;
  Int128 held_integral_ = 0;
  Int128 unshared_integral_ = 0;
  std::array<std::int64_t, kMemoryStates> memory_peak_{};
  std::int64_t largest_free_min_ = INT64_MAX;
  std::int64_t max_running_ = 0;
  std::int64_t max_waiting_ = 0;

  PrefixCacheUse prefix_;
  MemoryWork memory_work_;
  PipelineUse pipeline_;
  std::array<SwapTraffic, kSwapCauses> swaps_{};
  SwapTraffic swapped_;                    // sum of swaps_
  std::vector<LinkTimes> links_;           // by replica
  std::vector<ReplicaState> replicas_;     // none with a single one
  std::vector<std::uint16_t> replica_of_;  // by request, of several replicas
  std::vector<std::int64_t> stalls_;       // ns, in the order in which they ended
  std::int64_t long_gaps_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t computed_tokens_ = 0;
  std::int64_t output_tokens_ = 0;
  std::int64_t prompt_tokens_ = 0;
  std::int64_t recomputed_tokens_ = 0;
  std::int64_t preemptions_ = 0;
  std::int64_t preemptions_by_swap_ = 0;
  std::int64_t refused_although_free_ = 0;
};

}  // namespace blockyard::metrics
