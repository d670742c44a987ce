#include "sim/serving/replica.h"

#include <algorithm>
#include <optional>

namespace blockyard::serving {
Replica::Replica(const ReplicaOptions& options, sched::Scheduler& scheduler, kv::Memory& memory, cost::CostModel& cost,
                 metrics::Collector& collector, PromptContents* contents)
    : options_(options),
      number_(options.number),
      scheduler_(&scheduler),
      memory_(&memory),
      cost_(&cost),
      collector_(&collector),
      contents_(contents),
      tells_sharing_(memory.shares_blocks()) {
  if (cost.stages() > 1) {
    pipeline_.emplace(cost.stages());
    passes_.resize(static_cast<std::size_t>(cost.stages()));
    under_way_.resize(passes_.size());
    collector_->time(number_).charge_by_batch();
  }
  tell_memory();
  if (options_.memory_changed)
    memory_->listen([this](const MemoryChange& change) { options_.memory_changed(now_, change); });
}

void Replica::tell_memory() { collector_->set_memory(number_, memory_->partition(), memory_->largest_free_pieces()); }

void Replica::arrive(SimTime now, RequestId id, const workload::Request& request) {
  collector_->advance(now);
  look_again();
  if (options_.async_scheduling && step_in_flight()) {
    arriving_.push_back({id, request});
  } else {
    hand_over(id, request);
  }
  collector_->set_waiting(number_, waiting());
}

void Replica::hand_over(RequestId id, const workload::Request& request) {
  scheduler_->arrive(id, request);
  collector_->time(number_).queued(record(id));
}

void Replica::abandon(SimTime now, RequestId id) {
  look_again();
  if (step_in_flight()) {
    leaving_.push_back(id);
  } else {
    let_go(now, id);
  }
}

void Replica::let_go(SimTime now, RequestId id) {
  if (answered(id)) return;
  now_ = now;
  if (!drop_unseen(id) && !scheduler_->abort(id)) return;
  collector_->advance(now);
  collector_->timed_out(record(id), now);
  note_end(now, id);
  tell_state();
}

void Replica::note_end(SimTime now, RequestId id) {
  collector_->close_time(record(id));
  if (contents_ != nullptr) contents_->ended(id);
  if (options_.tells_ends) ended_.push_back({now, id});
}

// A state that no time passes in is nobody's business: it is told when a step has been planned, or when there is none.
void Replica::tell_state() {
  collector_->set_running(number_, scheduler_->running());
  collector_->set_waiting(number_, waiting());
  tell_memory();
  if (options_.one_of_several) collector_->set_stepping(number_, step_in_flight(), in_flight_ == InFlight::others_step);
  if (options_.swaps) collector_->set_host(number_, Bytes(scheduler_->host_used().count() * options_.block_bytes));
  if (!tells_sharing_) return;
  const kv::BlockSharing sharing = memory_->sharing();
  collector_->set_sharing(number_, sharing.held, sharing.unshared);
}

SimTime Replica::begin(SimTime now, SimTime horizon, bool helped) {
  horizon_ = horizon;
  helped_ = helped;
  for (std::int64_t steps = 0;; ++steps) {
    if (step_in_flight()) {
      if (pipeline_) {
        receive_batch(now);
      } else {
        end_step(now);
      }
      hand_over_arrivals();
    }
    check_clock(now);
    if (!stuck_.empty() || (!anybody() && !step_in_flight())) {
      tell_state();
      return kNever;
    }
    const SimTime end = pipeline_ ? send_batches(now) : start_step(now);
    const bool must_return = !options_.fast_forward || steps >= options_.steps_per_event || !ended_.empty();
    if (must_return || end >= horizon) return end;
    now = end;
  }
}

// At the end of a step the next one's plan is known already: it knows who arrived before the ended one began. An engine
// that would stand idle looks at all.
void Replica::hand_over_arrivals() {
  for (const Arrival& arrival : unseen_) hand_over(arrival.id, arrival.request);
  unseen_.clear();
  unseen_.swap(arriving_);
  if (anybody()) return;
  for (const Arrival& arrival : unseen_) hand_over(arrival.id, arrival.request);
  unseen_.clear();
}

bool Replica::drop_unseen(RequestId id) {
  const auto is_it = [id](const Arrival& arrival) { return arrival.id == id; };
  return std::erase_if(arriving_, is_it) + std::erase_if(unseen_, is_it) > 0;
}

SimTime Replica::start_step(SimTime now) {
  plan_step(now);
  take(now, lasts_by_itself(now));
  return step_end_;
}

void Replica::plan_step(SimTime now) {
  now_ = now;
  collector_->advance(now);
  memory_->advance(now);
  const bool plain = scheduler_->plain_step(plain_batch_);
  const sched::Batch& batch = plain ? plain_batch_ : scheduler_->schedule(now);
  in_flight_ = plain ? InFlight::plain_step : InFlight::step;
  planned_.batch = &batch;
  planned_.held = plain ? SimTime(0) : std::max(SimTime(0), batch.held_until - now);
  planned_.computing = duration(batch, planned_.work);
  planned_.copying = memory_time();
  idle_ = false;
}

// An engine with nothing to compute waits for the copy alone.
SimTime Replica::lasts_by_itself(SimTime now) {
  const Planned& p = planned_;
  const bool empty = p.batch->empty();
  const SimTime lasts = (empty ? std::max(p.held, p.computing.total) : p.held + p.computing.total) + p.copying;
  idle_ = empty && scheduler_->running() == 0 && held_up() == SimTime(0);
  if (idle_) return as_one(lasts, now);
  steps_as_one_ = 1;
  return lasts;
}

void Replica::take(SimTime now, SimTime lasts) {
  step_start_ = now;
  step_end_ = now + lasts;
  if (in_flight_ != InFlight::others_step) {
    const sched::Batch& batch = *planned_.batch;
    if (planned_.held > SimTime(0)) collector_->waits_on_link(number_, now, now + planned_.held);
    charge(now, batch, planned_.computing, lasts);
    if (in_flight_ == InFlight::step) {
      record_batch(now, batch);
      charge_parts(batch, planned_.computing);
    }
    ++steps_started_;
    if (options_.step_taken) tell_step(now, step_end_, planned_.work);
  }
  tell_state();
  if (options_.tells_load) planned_waiting_ = scheduler_->waiting();
}

void Replica::tell_step(SimTime start, SimTime end, const cost::StepWork& work) const {
  options_.step_taken({number_, start, end, work, scheduler_->waiting() > 0});
}

void Replica::end_step(SimTime now) {
  now_ = now;
  CHECK_LAW(now == step_end_, "the step ends at {} ns, told {} ns", step_end_.count(), now.count());
  collector_->advance(now);
  collector_->time(number_).step_ends();
  if (in_flight_ == InFlight::plain_step) {
    collector_->token_gap(now - step_start_, plain_batch_.decodes);
    collector_->step(number_, plain_batch_.decodes, plain_batch_.decodes);
    steps_without_progress_ = 0;
  } else {
    record_outcome(now, step_start_, scheduler_->complete(now));
  }
  in_flight_ = InFlight::nothing;
  note_load();
  memory_->step_ended(now);
  for (const RequestId id : leaving_) let_go(now, id);
  leaving_.clear();
}

void Replica::record_batch(SimTime now, const sched::Batch& batch) {
  metrics::TimeLedger& time = collector_->time(number_);
  for (const RequestId id : batch.admitted) {
    collector_->admitted(record(id), now);
    time.admitted(record(id), now, collector_->records()[index_of(id)].arrival);
  }
  for (const RequestId id : batch.resumed) time.resumed(record(id), now, false);
  for (const sched::Preempted& preempted : batch.preempted) {
    const metrics::RecordId id = record(preempted.request);
    collector_->preempted(id, now, false);
    time.preempted(id, now, std::nullopt, record(preempted.beneficiary));
  }
  record_swaps(now, batch);
  for (const sched::Finish& ignored : batch.ignored) {
    collector_->rejected(record(ignored.request), now, metrics::RejectReason::ignored_by_engine);
    note_end(now, ignored.request);
  }
  if (!batch.failure.empty()) {
    stuck_ = fmt::format(
        "the engine died while it scheduled: {}; {} running, {} waiting, {} of {} blocks or tokens of KV memory free",
        batch.failure, scheduler_->running(), scheduler_->waiting(), memory_->available(), memory_->total_grains());
  }
  if (contents_ != nullptr)
    collector_->prefix_lookups(number_, batch.looked_up, batch.hit, batch.looked_up_resumed, batch.hit_resumed);
  for (std::int64_t i = 0; i < batch.refused_although_free; ++i) collector_->refused_although_free();
}

// What of a victim's wait is charged to its copy is what holds the step up.
void Replica::record_swaps(SimTime now, const sched::Batch& batch) {
  metrics::TimeLedger& time = collector_->time(number_);
  for (const sched::Swap& swap : batch.swapped_in) {
    time.resumed(record(swap.request), now, true);
    collector_->swapped_in(swap.cause, swap.blocks, Bytes(swap.blocks.count() * options_.block_bytes));
  }
  for (const sched::Swap& swap : batch.swapped_out) {
    if (swap.cause != SwapCause::more) {
      collector_->preempted(record(swap.request), now, true);
      time.preempted(record(swap.request), now, std::max(SimTime(0), batch.held_until - now), record(swap.beneficiary));
    }
    collector_->swapped_out(swap.cause, swap.blocks, Bytes(swap.blocks.count() * options_.block_bytes));
  }
}

void Replica::record_outcome(SimTime now, SimTime began, const sched::StepOutcome& outcome) {
  if (outcome.shared_gap > 0) collector_->token_gap(now - began, outcome.shared_gap);
  for (const SimTime gap : outcome.gaps) collector_->token_gap(gap, 1);
  metrics::TimeLedger& time = collector_->time(number_);
  for (const sched::Restore& r : outcome.restored) {
    collector_->restored(record(r.request), r.stall, r.waiting);
    time.restored(record(r.request), now, answered(r.request));
  }
  for (const RequestId id : outcome.first_tokens) {
    collector_->first_token(record(id), now);
    time.first_token(record(id), now);
    if (index_of(id) >= answered_.size()) answered_.resize(index_of(id) + 1);
    answered_[index_of(id)] = true;
  }
  for (const sched::Recompute& r : outcome.recomputed) collector_->recomputed(record(r.request), r.tokens);
  for (const sched::Finish& f : outcome.finished) {
    collector_->finished(record(f.request), now, f.generated);
    note_end(now, f.request);
  }
  finished_ += static_cast<std::int64_t>(outcome.finished.size());
  collector_->step(number_, outcome.computed, outcome.tokens);
  check_progress(outcome.progress);
}

// Somebody comes or leaves: who was stuck may get on within a few steps.
void Replica::look_again() {
  constexpr std::int64_t kFew = 100;
  steps_as_one_ = 1;
  if (helped_) steps_without_progress_ = std::min(steps_without_progress_, options_.no_progress_limit - kFew);
}

// Only idle steps that were waited for already are taken as one: a run that is not stuck never knows of it.
SimTime Replica::as_one(SimTime empty_step, SimTime now) {
  const bool unseen = !unseen_.empty() || !arriving_.empty();  // the next step sees them
  if (!helped_ || unseen || steps_without_progress_ < options_.no_progress_limit || horizon_ == kNever)
    return empty_step;
  const SimTime left = std::min(horizon_, kLongestRun) - now;
  if (empty_step == SimTime(0)) return left + SimTime(1);  // beyond what else happens at the horizon
  const std::int64_t to_horizon =
      std::max<std::int64_t>(1, (left.count() + empty_step.count() - 1) / empty_step.count());
  const std::int64_t steps = std::clamp<std::int64_t>(steps_as_one_, 1, to_horizon);
  steps_as_one_ = 2 * steps;
  return SimTime(steps * empty_step.count());
}

void Replica::check_progress(bool progress) {
  constexpr std::int64_t kCircles = 100;
  const std::int64_t limit = options_.no_progress_limit;
  if (progress) {
    steps_without_progress_ = 0;
  } else if (!idle_ || steps_without_progress_ < limit) {
    ++steps_without_progress_;
  }
  if (steps_without_progress_ < (helped_ ? kCircles * limit : limit)) return;
  const bool alone = scheduler_->running() + scheduler_->waiting() == 1;
  stuck_ = fmt::format(
      "no progress for {} steps: {} running, {} waiting, {} of {} blocks or tokens of KV memory free. No request "
      "generated a token or computed a position for the first time: the scheduler preempts in a circle, or the head of "
      "the queue can never be admitted{}",
      steps_without_progress_, scheduler_->running(), scheduler_->waiting(), memory_->available(),
      memory_->total_grains(),
      alone ? ". The one request that is left cannot get all it needs, though nobody else is there: a larger "
              "kv_cache.budget (or step budget, where swaps are cut up) lets it end, a smaller engine.max_model_len "
              "keeps such requests out"
            : "");
}

// Copies and mappings since the last step began hold this one up.
SimTime Replica::memory_time() {
  const kv::MemoryWork work = memory_->take_work();
  if (!work.any()) return SimTime(0);
  const MemoryTimes& t = options_.memory_times;
  const SimTime time = to_time(static_cast<double>(work.copied.count()) * t.copied_token_s +
                               static_cast<double>(work.pages_mapped) * t.mapped_page_s +
                               static_cast<double>(work.pages_unmapped) * t.unmapped_page_s) +
                       std::max(SimTime(0), work.until - now_);
  collector_->memory_work({.copied = Bytes(work.copied.count() * options_.token_bytes),
                           .compactions = work.compactions,
                           .pages_mapped = work.pages_mapped,
                           .pages_unmapped = work.pages_unmapped,
                           .time = time});
  return time;
}

cost::StepTime Replica::duration(const sched::Batch& batch, cost::StepWork& work) {
  work = {};
  if (batch.empty()) return {cost_->empty_step(), SimTime(0), SimTime(0)};
  if (memory_->recomputes_context()) return recomputed_duration(batch);
  work = work_of(batch);
  return cost_->step_time(work);
}

cost::StepWork Replica::work_of(const sched::Batch& batch) const {
  cost::StepWork work;
  work.sampled_sequences = batch.sampled;
  work.decode_sequences = batch.decodes;
  work.decode_kv_tokens = batch.decode_context;
  work.decode_longest = batch.decode_longest;
  for (const sched::Chunk& chunk : batch.chunks) cost_->add_chunk(work, chunk.fresh, chunk.context);
  return work;
}

// Without a cache every sequence of the batch computes its whole context, as one prefill. Of decodes only sums are
// known: n * n / 2 query-key pairs each, without what a kernel leaves idle.
cost::StepTime Replica::recomputed_duration(const sched::Batch& batch) {
  cost::StepWork work;
  work.sampled_sequences = batch.decodes;
  work.prefill_sequences = batch.decodes;
  work.prefill_tokens = batch.decode_context;
  work.prefill_kv_tokens = batch.decode_context;
  work.prefill_pairs = static_cast<double>(batch.decode_context_squares) / 2;
  cost::StepTime time{SimTime(0), SimTime(0), cost_->overhead()};
  if (batch.decodes > 0) time.decodes_alone = time.total = cost_->step(work);
  if (batch.chunks.empty()) return time;
  work.sampled_sequences = batch.sampled;
  for (const sched::Chunk& chunk : batch.chunks) cost_->add_chunk(work, chunk.context + chunk.fresh, Tokens(0));
  time.total = cost_->step(work);
  return time;
}

SimTime Replica::alone(std::span<const sched::Chunk> chunks) {
  cost::StepWork work;
  const bool whole = memory_->recomputes_context();
  for (const sched::Chunk& chunk : chunks) {
    work.sampled_sequences += chunk.last ? 1 : 0;
    cost_->add_chunk(work, whole ? chunk.context + chunk.fresh : chunk.fresh, whole ? Tokens(0) : chunk.context);
  }
  return cost_->step(work);
}

// A step's own time is what it would have taken alone, but never more than it took.
void Replica::charge(SimTime now, const sched::Batch& batch, const cost::StepTime& computing, SimTime lasts) {
  const SimTime own = std::min(computing.decodes_alone, computing.total);
  const SimTime overhead = std::min(computing.overhead, own);
  metrics::StepCharge charge{lasts, own - overhead, overhead, batch.head_waits_for, std::nullopt};
  if (scheduler_->waiting() > 0) charge.head = record(batch.head);
  collector_->time(number_).step_begins(now, charge);
}

void Replica::charge_parts(const sched::Batch& batch, const cost::StepTime& computing) {
  metrics::TimeLedger& time = collector_->time(number_);
  for_chunks_of_each(batch, computing,
                     [&](RequestId id, SimTime own, SimTime overhead) { time.chunk(record(id), own, overhead); });
  for (const RequestId id : batch.skipped) time.skipped(record(id));
  for (const RequestId id : batch.fetching) time.fetching(record(id));
}

}  // namespace blockyard::serving
