#include "sim/metrics/time_ledger.h"

#include <algorithm>

namespace blockyard::metrics {
namespace {

constexpr std::uint32_t kNoSlot = UINT32_MAX;

constexpr TimeBucket queue_bucket(std::size_t cause, bool head) {
  return static_cast<TimeBucket>(static_cast<std::size_t>(TimeBucket::queue_seat_head) + 2 * cause + (head ? 0 : 1));
}

}  // namespace

void TimeLedger::turn_to(std::size_t replica) {
  if (const std::size_t most = std::max(replica, turned_to_); most >= others_.size()) others_.resize(most + 1);
  std::swap(page_, others_[turned_to_]);
  std::swap(page_, others_[replica]);
  turned_to_ = replica;
}

TimeLedger::Open& TimeLedger::open(RecordId id) {
  const auto index = static_cast<std::size_t>(id);
  if (slots_[index] == kNoSlot) {
    if (unused_.empty()) {
      slots_[index] = static_cast<std::uint32_t>(opens_.size());
      opens_.emplace_back();
    } else {
      slots_[index] = unused_.back();
      unused_.pop_back();
      opens_[slots_[index]] = Open{};
    }
    opens_[slots_[index]].phase = Phase::queued;
  }
  return opens_[slots_[index]];
}

void TimeLedger::make_room(std::size_t index) {
  if (index < entries_.size()) return;
  entries_.resize(index + 1);
  slots_.resize(index + 1, kNoSlot);
}

void TimeLedger::enter_line(SimTime now) {
  // Requests come in the order of their ids.
  make_room(static_cast<std::size_t>(page_.newcomers.back()));
  for (const RecordId id : page_.newcomers)
    entries_[static_cast<std::size_t>(id)] = {now, {page_.waited[0], page_.waited[1]}};
  page_.newcomers.clear();
}

void TimeLedger::change_head(SimTime now, std::optional<RecordId> head) {
  const auto charge = [&](RecordId id) {
    const std::uint32_t slot = slots_[static_cast<std::size_t>(id)];
    if (slot == kNoSlot || opens_[slot].phase != Phase::queued) return;
    std::int64_t rest = (now - page_.head_since.at).count();
    for (std::size_t cause = 0; cause + 1 < kQueueCauses; ++cause) {
      const std::int64_t waited = page_.waited[cause] - page_.head_since.waited[cause];
      opens_[slot].row[queue_bucket(cause, true)] += waited;
      rest -= waited;
    }
    opens_[slot].row[queue_bucket(kQueueCauses - 1, true)] += rest;
  };
  if (page_.head) charge(*page_.head);
  page_.head = head;
  if (!head) return;
  (void)open(*head);
  page_.head_since = {now, {page_.waited[0], page_.waited[1]}};
}

void TimeLedger::add_queue_time(Open& o, const Entry& entry, SimTime now, SimTime arrival) const {
  o.row[TimeBucket::front_end] += front_end_.count();
  o.row[TimeBucket::step_boundary] += (entry.at - arrival - front_end_).count();
  std::int64_t rest = (now - entry.at).count();
  for (std::size_t cause = 0; cause < kQueueCauses; ++cause) {
    const std::int64_t waited = cause + 1 < kQueueCauses ? page_.waited[cause] - entry.waited[cause] : rest;
    o.row[queue_bucket(cause, false)] += waited - o.row[queue_bucket(cause, true)];
    rest -= waited;
  }
}

void TimeLedger::enter(Open& o, Phase phase, SimTime now) const {
  o.phase = phase;
  o.since = now;
  o.own = page_.decode_own;
  o.overhead = page_.decode_overhead;
  o.elsewhere = 0;
  o.covered = now;
  o.passed_over = false;
}

void TimeLedger::worked(RecordId id, SimTime start, SimTime end, SimTime own, SimTime overhead) {
  const std::uint32_t slot = slots_[static_cast<std::size_t>(id)];
  if (slot == kNoSlot) return;
  Open& o = opens_[slot];
  const bool restores = o.phase == Phase::restoring && start >= o.since;
  if (o.phase != Phase::prefill && o.phase != Phase::decode && !restores) return;
  const std::int64_t without = std::max<std::int64_t>(0, (start - o.covered).count());
  const SimTime within = end - std::max(start, o.covered);
  o.covered = end;
  o.passed_over = false;
  if (restores) {
    o.elsewhere += without;
    o.row[TimeBucket::preempted_waiting] += without;
    return;
  }
  const Share share = share_of(within, own, overhead);
  const bool prefill = o.phase == Phase::prefill;
  o.row[TimeBucket::skipped] += without;
  o.row[prefill ? TimeBucket::prefill_own : TimeBucket::decode_own] += share.own;
  o.row[prefill ? TimeBucket::prefill_overhead : TimeBucket::decode_overhead] += share.overhead;
  o.row[prefill ? TimeBucket::prefill_interference : TimeBucket::decode_interference] +=
      within.count() - share.own - share.overhead;
}

TimeLedger::Share TimeLedger::share_of(SimTime within, SimTime own, SimTime overhead) {
  const std::int64_t fixed = std::min(overhead, within).count();
  return {std::min(own.count(), within.count() - fixed), fixed};
}

void TimeLedger::cohort_worked(CohortId cohort, SimTime start, SimTime end, SimTime own, SimTime overhead) {
  Cohort& c = page_.cohorts[index_of(cohort)];
  CHECK_LAW(start == c.covered, "cohort {} begins a batch at {} ns, and ended one at {} ns", index_of(cohort),
            start.count(), c.covered.count());
  const Share share = share_of(end - start, own, overhead);
  c.own += share.own;
  c.overhead += share.overhead;
  c.covered = end;
}

void TimeLedger::joins(RecordId id, SimTime now, CohortId cohort) {
  if (index_of(cohort) >= page_.cohorts.size()) page_.cohorts.resize(index_of(cohort) + 1);
  Cohort& c = page_.cohorts[index_of(cohort)];
  c.covered = now;
  Open& o = open(id);
  CHECK_LAW(o.phase == Phase::decode && o.covered == now, "request {} joins a cohort at {} ns, charged until {} ns",
            static_cast<std::size_t>(id), now.count(), o.covered.count());
  o.cohort = cohort;
  o.own = c.own;
  o.overhead = c.overhead;
}

// Charges what its cohort has done since it joined.
void TimeLedger::leave_cohort(Open& o) const {
  if (!o.cohort) return;
  const Cohort& c = page_.cohorts[index_of(*o.cohort)];
  const std::int64_t own = c.own - o.own;
  const std::int64_t overhead = c.overhead - o.overhead;
  o.row[TimeBucket::decode_own] += own;
  o.row[TimeBucket::decode_overhead] += overhead;
  o.row[TimeBucket::decode_interference] += (c.covered - o.covered).count() - own - overhead;
  o.covered = c.covered;
  o.cohort.reset();
}

// In a pipeline: it is preempted, or leaves, while a batch of it is under way, or after it was passed over.
void TimeLedger::leave_uncovered(Open& o, SimTime now) const {
  leave_cohort(o);
  const std::int64_t rest = (now - o.covered).count();
  TimeBucket bucket = o.phase == Phase::prefill ? TimeBucket::prefill_interference : TimeBucket::decode_interference;
  if (o.passed_over) bucket = TimeBucket::skipped;
  o.row[bucket] += rest;
}

// Charges what the phase has not charged step by step.
void TimeLedger::leave_phase(Open& o, SimTime now) const {
  const std::int64_t lasted = (now - o.since).count();
  switch (o.phase) {
    case Phase::decode: {
      if (by_batch_) {
        leave_uncovered(o, now);
        break;
      }
      const std::int64_t own = page_.decode_own - o.own;
      const std::int64_t overhead = page_.decode_overhead - o.overhead;
      o.row[TimeBucket::decode_own] += own;
      o.row[TimeBucket::decode_overhead] += overhead;
      o.row[TimeBucket::decode_interference] += lasted - own - overhead;
      break;
    }
    case Phase::preempted:
      o.row[TimeBucket::preempted_waiting] += lasted - o.elsewhere;
      break;
    case Phase::restoring:
      o.row[o.by_swap ? TimeBucket::preempted_swap_in : TimeBucket::preempted_recompute] += lasted - o.elsewhere;
      break;
    case Phase::prefill:
      if (by_batch_) leave_uncovered(o, now);
      break;
    case Phase::queued:
    case Phase::unused:
      break;
  }
}

void TimeLedger::admitted(RecordId id, SimTime now, SimTime arrival) {
  Open& o = open(id);
  add_queue_time(o, entries_[static_cast<std::size_t>(id)], now, arrival);
  enter(o, Phase::prefill, now);
  note(now, EventKind::admitted, id);
}

void TimeLedger::preempted(RecordId id, SimTime now, std::optional<SimTime> swap_out, RecordId beneficiary) {
  Open& o = open(id);
  leave_phase(o, now);
  enter(o, Phase::preempted, now);
  note(now, swap_out ? EventKind::swapped_out : EventKind::preempted, id, beneficiary);
  if (!swap_out) return;
  o.elsewhere = swap_out->count();
  o.row[TimeBucket::preempted_swap_out] += swap_out->count();
}

void TimeLedger::resumed(RecordId id, SimTime now, bool by_swap) {
  Open& o = open(id);
  leave_phase(o, now);
  enter(o, Phase::restoring, now);
  o.by_swap = by_swap;
  note(now, by_swap ? EventKind::swapped_in : EventKind::resumed, id);
}

void TimeLedger::chunk(RecordId id, SimTime own, SimTime overhead) {
  Open& o = open(id);
  if (o.phase == Phase::prefill) {
    o.row[TimeBucket::prefill_own] += own.count();
    o.row[TimeBucket::prefill_overhead] += overhead.count();
    o.row[TimeBucket::prefill_interference] += (page_.step.lasts - own - overhead).count();
  } else if (o.phase == Phase::decode) {
    // Tokens of its own length that it lacks although it decodes: its counters are those of the other decodes.
    o.own -= (own - page_.step.decode_own).count();
    o.overhead -= (overhead - page_.step.decode_overhead).count();
  }
}

void TimeLedger::skipped(RecordId id) {
  Open& o = open(id);
  if (by_batch_) {
    leave_cohort(o);
    o.passed_over = true;
    return;
  }
  const std::int64_t lasts = page_.step.lasts.count();
  if (o.phase == Phase::restoring) {
    o.elsewhere += lasts;
    o.row[TimeBucket::preempted_waiting] += lasts;
    return;
  }
  o.row[TimeBucket::skipped] += lasts;
  if (o.phase != Phase::decode) return;
  // What the counters are about to charge it with is taken back.
  o.since += page_.step.lasts;
  o.own += page_.step.decode_own.count();
  o.overhead += page_.step.decode_overhead.count();
}

// After a preemption it is a part of the restoring.
void TimeLedger::fetching(RecordId id) {
  Open& o = open(id);
  if (o.phase == Phase::prefill) o.row[TimeBucket::tier_fetch] += page_.step.lasts.count();
}

void TimeLedger::restored(RecordId id, SimTime now, bool has_token) {
  Open& o = open(id);
  leave_phase(o, now);
  enter(o, has_token ? Phase::decode : Phase::prefill, now);
  note(now, EventKind::restored, id);
}

// In a pipeline it may come after its request has been preempted; that ends no stall.
void TimeLedger::first_token(RecordId id, SimTime now) {
  Open& o = open(id);
  if (o.phase != Phase::prefill) return;
  if (by_batch_) leave_uncovered(o, now);
  enter(o, Phase::decode, now);
}

void TimeLedger::ended(RecordId id, const RequestRecord& r) {
  const auto index = static_cast<std::size_t>(id);
  if (index >= entries_.size() || entries_[index].at == kNever) {
    // No step has seen it.
    std::erase(page_.newcomers, id);
    make_room(index);
    entries_[index].at = r.ended;
    entries_[index].waited = {page_.waited[0], page_.waited[1]};
  }
  Open& o = open(id);
  if (page_.head == id) change_head(r.ended, std::nullopt);
  if (o.phase == Phase::queued) {
    add_queue_time(o, entries_[index], r.ended, r.arrival);
  } else {
    leave_phase(o, r.ended);
  }
  CHECK_LAW(o.row.total() == (r.ended - r.arrival).count(), "request {}: its buckets hold {} ns of {}", index,
            o.row.total(), (r.ended - r.arrival).count());
  const bool counted = r.arrival >= counted_from_ && r.arrival < counted_to_;
  if (r.outcome == Outcome::timed_out && counted) timed_out_.add(o.row);
  note(r.ended,
       r.outcome == Outcome::finished    ? EventKind::finished
       : r.outcome == Outcome::timed_out ? EventKind::abandoned
                                         : EventKind::ignored,
       id);
  if (r.outcome == Outcome::finished) {
    CHECK_LAW(o.row.preempted() == r.stall.count(), "request {}: preempted for {} ns, stalled for {}", index,
              o.row.preempted(), r.stall.count());
    if (counted) finished_.add(o.row);
  }
  if (keeps_rows_) {
    if (index >= rows_.size()) rows_.resize(index + 1);
    rows_[index] = o.row;
  }
  o.phase = Phase::unused;
  unused_.push_back(slots_[index]);
  slots_[index] = kNoSlot;
}

void TimeLedger::Tally::add(const TimeRow& row) {
  ++requests;
  for (std::size_t i = 0; i < kTimeBuckets; ++i) buckets[i].add(row.ns[i]);
  for (std::size_t g = 0; g < kTimeGroups.size(); ++g) {
    groups[g].add(row.sum(kTimeGroups[g].first, kTimeGroups[g].last));
  }
}

TimeUses TimeLedger::Tally::uses() const {
  TimeUses uses;
  uses.requests = requests;
  Int128 all = 0;
  for (const Use& bucket : buckets) all += bucket.sum;
  // Linear between order statistics, as everywhere; those that were never in a bucket are its smallest.
  const auto of = [&](const Use& use) {
    TimeUse u;
    if (use.count == 0) return u;
    u.mean_s = static_cast<double>(use.sum) / static_cast<double>(requests) / 1e9;
    u.share = static_cast<double>(use.sum) / static_cast<double>(all);
    const double rank = 0.99 * static_cast<double>(requests - 1);
    const auto low = static_cast<std::int64_t>(rank);
    const double below = use.sketch.from_top(requests - 1 - low);
    const double above = low + 1 < requests ? use.sketch.from_top(requests - 2 - low) : below;
    u.p99_s = (below + (rank - static_cast<double>(low)) * (above - below)) / 1e9;
    return u;
  };
  for (std::size_t i = 0; i < kTimeBuckets; ++i) uses.buckets[i] = of(buckets[i]);
  for (std::size_t g = 0; g < kTimeGroups.size(); ++g) uses.groups[g] = of(groups[g]);
  return uses;
}

}  // namespace blockyard::metrics
