// Where each request's time went (time_buckets.h). Steps are told in order, and between them what happened to whom;
// each step adds to a few cumulative counters, and a request that only waits or only decodes keeps a snapshot of them
// and takes the difference when it leaves that state. Law, asserted for every request that ends: its buckets add up to
// ended - arrival, those of preemption to its stall. Cost: O(1) a step, and O(1) for each chunk, skipped request and
// change of a request's state. Memory: 28 bytes a request, 216 for each that runs or stands at the head of the line,
// and 152 for each that has ended if rows are kept.
//
// In a pipeline steps overlap, and counters over steps would say nothing. There each request is charged by itself, when
// a batch that it was in has passed: worked() covers the time since it was covered last. Requests that decode in one
// batch time and again form a cohort, which has counters over its own batches; those follow each other without a gap.
// The line is charged from one plan to the next.
//
// Replicas take their steps side by side: each has a page of its own for its counters and its line, and of(replica)
// turns to it; all that is told until the next turn is of that replica. Requests stand in the order of the whole.
//
// Order of calls for a step of a replica: step_begins(), then what its plan does (admitted, preempted, resumed, chunk,
// skipped), all at its start; step_ends(), then what it brought (restored, first_token, ended), all at its end.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/check.h"
#include "sim/base/ids.h"
#include "sim/metrics/count_sketch.h"
#include "sim/metrics/event_log.h"
#include "sim/metrics/gap_histogram.h"
#include "sim/metrics/record.h"
#include "sim/metrics/time_buckets.h"

namespace blockyard::metrics {

// A step's duration as its decodes and the waiting line are charged with it.
struct StepCharge {
  SimTime lasts;            // transfers that hold it up included
  SimTime decode_own;       // of each decode
  SimTime decode_overhead;  // likewise; own + overhead <= lasts
  QueueCause cause = QueueCause::seat;
  std::optional<RecordId> head;  // of the waiting line; none = nobody waits
};

class TimeLedger {
 public:
  TimeLedger() = default;
  // `front_end`: how long every request is on its way to the engine.
  explicit TimeLedger(SimTime front_end) : front_end_(front_end) {}

  // Turns to the page of a replica.
  TimeLedger& of(std::size_t replica) {
    if (replica != turned_to_) [[unlikely]]
      turn_to(replica);
    return *this;
  }

  // The request stands in the line; the next step that begins is the first that could take it.
  void queued(RecordId id) { page_.newcomers.push_back(id); }

  // In a pipeline, from the start: of a step only its line is told, to step_begins(), and neither chunks nor its end.
  void charge_by_batch() { by_batch_ = true; }
  // Time has passed for the line, which step_begins() told of last.
  void line_waits(SimTime now) {
    page_.waited[static_cast<std::size_t>(page_.step.cause)] += (now - page_.line_at).count();
    page_.line_at = now;
  }
  // A batch has passed the pipeline from start to end, with tokens of the request; own + overhead are what they take
  // alone. Nothing happens if the request has ended, or was preempted since.
  void worked(RecordId id, SimTime start, SimTime end, SimTime own, SimTime overhead);
  // The same for all members of a cohort, in O(1). A request is a member from its join, at the end of a batch of the
  // cohort or of its own, until it ends, is preempted or passed over, or decodes in a batch by itself.
  void cohort_worked(CohortId cohort, SimTime start, SimTime end, SimTime own, SimTime overhead);
  void joins(RecordId id, SimTime now, CohortId cohort);
  void decodes_by_itself(RecordId id) { leave_cohort(open(id)); }

  void step_begins(SimTime now, const StepCharge& charge) {
    if (by_batch_) line_waits(now);
    if (!page_.newcomers.empty()) enter_line(now);
    if (log_ && (charge.head != page_.head || (charge.head && charge.cause != page_.step.cause))) {
      log_->add({now, charge.head.value_or(Event::nobody()), Event::nobody(), EventKind::head, charge.cause,
                 static_cast<std::uint16_t>(turned_to_)});
    }
    if (charge.head != page_.head) change_head(now, charge.head);
    page_.step = charge;
  }
  void admitted(RecordId id, SimTime now, SimTime arrival);
  // By recompute, or its KV is on the way to the host for so long; for whom, nobody() if that is not known.
  void preempted(RecordId id, SimTime now, std::optional<SimTime> swap_out, RecordId beneficiary = Event::nobody());
  void resumed(RecordId id, SimTime now, bool by_swap);
  void chunk(RecordId id, SimTime own, SimTime overhead);  // own + overhead <= the step's duration
  void skipped(RecordId id);
  // Given no token, as its KV is on its way to the GPU.
  void fetching(RecordId id);

  void step_ends() {
    page_.waited[static_cast<std::size_t>(page_.step.cause)] += page_.step.lasts.count();
    page_.decode_own += page_.step.decode_own.count();
    page_.decode_overhead += page_.step.decode_overhead.count();
  }
  void restored(RecordId id, SimTime now, bool has_token);
  void first_token(RecordId id, SimTime now);
  // `of_record`: as it ended; counted in the summaries if it has finished or timed out.
  void ended(RecordId id, const RequestRecord& of_record);

  // Only requests that arrive from then to then (not included) are counted in the summaries.
  void count_arrivals(SimTime from, SimTime to) {
    counted_from_ = from;
    counted_to_ = to;
  }
  void keep_rows() { keeps_rows_ = true; }
  void keep_events() { log_.emplace(); }
  [[nodiscard]] const std::optional<EventLog>& events() const { return log_; }
  // All 0 unless rows are kept and the request has stood in the line and ended.
  [[nodiscard]] TimeRow row(std::size_t request) const { return request < rows_.size() ? rows_[request] : TimeRow{}; }
  [[nodiscard]] TimeUses of_finished() const { return finished_.uses(); }
  [[nodiscard]] TimeUses of_timed_out() const { return timed_out_.uses(); }

 private:
  enum class Phase : std::uint8_t { unused, queued, prefill, decode, preempted, restoring };

  // When a request joined the line; counters then. What is not in `waited` is the last cause's.
  struct Entry {
    SimTime at = kNever;
    std::array<std::int64_t, kQueueCauses - 1> waited{};
  };
  struct Open {
    TimeRow row;
    Phase phase = Phase::unused;
    bool by_swap = false;            // restoring: its KV comes back from the host
    bool passed_over = false;        // in a pipeline: given no token since it was charged last
    std::optional<CohortId> cohort;  // in a pipeline
    SimTime since;                   // start of the phase
    std::int64_t own = 0;            // decode: counters then, or those of its cohort when it joined
    std::int64_t overhead = 0;
    std::int64_t elsewhere = 0;  // preempted, restoring: ns since then that another bucket has
    SimTime covered;             // in a pipeline: charged until then
  };
  // Over its batches so far.
  struct Cohort {
    std::int64_t own = 0;
    std::int64_t overhead = 0;
    SimTime covered;  // until then
  };

  struct Use {
    Int128 sum = 0;
    std::int64_t count = 0;
    CountSketch sketch;

    void add(std::int64_t ns) {
      if (ns == 0) return;
      sum += ns;
      ++count;
      sketch.add(ns);
    }
  };

  // Of requests that have ended alike; the sketches have what is not 0.
  struct Tally {
    std::int64_t requests = 0;
    std::array<Use, kTimeBuckets> buckets;
    std::array<Use, kTimeGroups.size()> groups;

    void add(const TimeRow& row);
    [[nodiscard]] TimeUses uses() const;
  };

  // The line of a replica, and the counters of its steps.
  struct Page {
    std::vector<RecordId> newcomers;
    StepCharge step;
    SimTime line_at;
    std::array<std::int64_t, kQueueCauses> waited{};
    std::int64_t decode_own = 0;
    std::int64_t decode_overhead = 0;
    std::optional<RecordId> head;
    Entry head_since;
    std::vector<Cohort> cohorts;
  };

  void turn_to(std::size_t replica);
  Open& open(RecordId id);
  void make_room(std::size_t index);
  void enter_line(SimTime now);
  void change_head(SimTime now, std::optional<RecordId> head);
  void add_queue_time(Open& o, const Entry& entry, SimTime now, SimTime arrival) const;
  void leave_phase(Open& o, SimTime now) const;
  void leave_uncovered(Open& o, SimTime now) const;
  void leave_cohort(Open& o) const;
  // Of a batch that takes so long, without others and beyond its fixed part, and that part; no more than it took.
  struct Share {
    std::int64_t own;
    std::int64_t overhead;
  };
  [[nodiscard]] static Share share_of(SimTime within, SimTime own, SimTime overhead);
  void enter(Open& o, Phase phase, SimTime now) const;
  void note(SimTime now, EventKind kind, RecordId id, RecordId other = Event::nobody()) {
    if (log_) log_->add({now, id, other, kind, QueueCause::seat, static_cast<std::uint16_t>(turned_to_)});
  }

  SimTime front_end_;
  SimTime counted_from_;
  SimTime counted_to_ = kNever;
  std::vector<Entry> entries_;        // by request
  std::vector<std::uint32_t> slots_;  // by request; where it is open, kNoSlot = not
  std::vector<Open> opens_;
  std::vector<std::uint32_t> unused_;

  bool by_batch_ = false;
  Page page_;  // of the replica turned to
  std::size_t turned_to_ = 0;
  std::vector<Page> others_;  // by replica; that of the one turned to is not used

  std::optional<EventLog> log_;
  bool keeps_rows_ = false;
  std::vector<TimeRow> rows_;
  Tally finished_;
  Tally timed_out_;
};

}  // namespace blockyard::metrics
