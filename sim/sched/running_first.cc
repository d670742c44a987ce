#include "sim/sched/running_first.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace blockyard::sched {
namespace {

QueueOptions with_prefixes(QueueOptions options, CachedPrefixes& prefixes) {
  options.prefixes = &prefixes;
  return options;
}

}  // namespace

RunningFirst::RunningFirst(const RunningFirstOptions& options, kv::Allocator& memory, Restoring restoring)
    : options_(options),
      victims_by_priority_(options.queue_order == "priority"),
      arrivals_overtake_(arrivals_overtake(options.queue_order)),
      victim_policy_(make_victim_policy(options.victim)),
      memory_(&memory),
      restore_cost_(restoring.cost),
      host_(std::move(restoring.host)),
      plans_by_rank_(victim_policy_ != nullptr || options.tail_blocks > Tokens(0) ||
                     (host_ != nullptr && host_->overlap())),
      forms_cohorts_(options.fast_forward && (options.batches_under_way == 1 || memory.decodes_by_turns())),
      running_(table_),
      waiting_(make_waiting_queue(options.queue_order, with_prefixes(options.queue, *this))) {
  CHECK_LAW(victim_policy_ == nullptr || !victim_policy_->asks_for_restore_time() || restore_cost_ != nullptr,
            "victim {} without a restore cost", options.victim);
  const std::int64_t cohorts = options.batches_under_way == 1 ? 1 : options.batches_under_way + 1;
  for (std::int64_t i = 0; i < cohorts; ++i) cohorts_.emplace_back(table_, static_cast<CohortId>(i));
  if (options.batches_under_way == 1) return;
  CHECK_LAW(!plans_by_rank_ && host_ == nullptr && !options.beam_search, "{} batches under way, with other rules",
            options.batches_under_way);
  under_way_.resize(static_cast<std::size_t>(options.batches_under_way));
}

void RunningFirst::arrive(RequestId id, const workload::Request& request) {
  // Behind a blocked head an arrival changes nothing, unless the order lets it overtake.
  if (waiting_->size() == 0 || arrivals_overtake_) head_blocked_ = false;
  waiting_->push({request, id, SequenceId::none, false, Tokens(0)});
  memory_->expect(id);
}

// Tokens that a running sequence still lacks, before the budget cuts them. None while its KV is on the way back.
Tokens RunningFirst::wanted(const Sequence& s) const {
  if (s.ready > now_) return Tokens(0);
  Tokens n = s.length() - s.computed;
  const Tokens threshold = options_.long_prefill_token_threshold;
  if (threshold > Tokens(0)) n = std::min(n, threshold);
  return std::min(n, options_.max_model_len - Tokens(1) - s.computed);
}

const Batch& RunningFirst::schedule(SimTime now) {
  now_ = now;
  short_of_memory_ = false;
  if (copies_under_way()) settle_copies();
  batch_.clear();
  planned_.clear();
  cohort_planned_ = false;
  budget_ = options_.max_num_batched_tokens;
  if (options_.beam_search) choose_parents();

  if (plans_by_rank_ && !cohort_grown_) {
    plan_by_rank(now);
  } else if (!forms_cohorts_ || !plan_by_sums(now)) {
    plan_by_walk(now);
  }
  head_waits_for_ = QueueCause::kv_memory;  // unless an attempt to admit the head finds another cause
  waiting_->look_again();
  if (!short_of_memory_) admit_waiting();
  describe_batch();
  describe_line(batch_);
  if (host_ != nullptr || !batch_.fetching.empty() || (batch_.empty() && !pipelined())) hold_for_copies();
  if (pipelined() && (sent_ == 0 || !batch_.empty())) send_batch();
  return batch_;
}

// Fills wanted_ with what each of prefilling_ gets. True if the budget gives everybody all they want, or binds only for
// the last.
bool RunningFirst::budget_covers_all() {
  wanted_.clear();
  Tokens left = options_.max_num_batched_tokens - Tokens(ready().size());
  if (left < Tokens(0)) return false;
  for (const SequenceId id : prefilling_) {
    const Sequence& s = table_[id];
    const Tokens n = wanted(s);
    wanted_.push_back(s.affordable(s.computed, n, left));
    if (wanted_.back() < n && id != running_.last()) return false;
    left -= s.work(s.computed, s.computed + wanted_.back());
  }
  return true;
}

std::int64_t RunningFirst::memory_demand() const {
  std::int64_t demand = memory_->decode_demand();
  for (std::size_t i = 0; i < prefilling_.size(); ++i) {
    if (wanted_[i] <= Tokens(0)) continue;
    const Sequence& s = table_[prefilling_[i]];
    demand += memory_->demand(prefilling_[i], s.computed + wanted_[i]);
  }
  return demand;
}

bool RunningFirst::plan_by_sums(SimTime now) {
  if (cohort_grown_) {
    cohort_grown_ = false;
    cohort_planned_ = true;
    budget_ -= Tokens(ready().size());
    return true;
  }
  if (!budget_covers_all()) return false;
  while (memory_demand() > memory_->available()) {
    if (victims_by_priority_ || memory_->order_decides()) return false;
    const SequenceId last = running_.last();
    name_beneficiary(last);
    if (!prefilling_.empty() && prefilling_.back() == last) wanted_.pop_back();
    preempt(last, now);
  }
  return grow_all();
}

// Everybody running gets what is wanted; false, and nothing has changed, if memory refuses although the demand is
// there.
bool RunningFirst::grow_all() {
  growths_.clear();
  for (std::size_t i = 0; i < prefilling_.size(); ++i) {
    if (wanted_[i] > Tokens(0)) growths_.push_back({prefilling_[i], table_[prefilling_[i]].computed + wanted_[i]});
  }
  if (memory_->grow_decoding(growths_) != kv::Grant::granted) {
    CHECK_LAW(memory_->order_decides(), "a demand that fitted was refused; available {}", memory_->available());
    return false;
  }
  for (std::size_t i = 0; i < prefilling_.size(); ++i) {
    if (wanted_[i] <= Tokens(0)) {
      skip(prefilling_[i]);
      continue;
    }
    const Sequence& s = table_[prefilling_[i]];
    planned_.push_back({prefilling_[i], wanted_[i], PlanEntry::Kind::running, Tokens(0)});
    budget_ -= s.work(s.computed, s.computed + wanted_[i]);
  }
  cohort_planned_ = ready().size() > 0;
  budget_ -= Tokens(ready().size());
  return true;
}

SequenceId RunningFirst::victim() const {
  if (!victims_by_priority_) return running_.last();
  SequenceId worst = running_.first();
  const auto key = [&](SequenceId id) {
    const workload::Request& r = table_[id].request;
    return std::pair(r.priority, r.arrival);
  };
  for (SequenceId id = table_[worst].next; id != SequenceId::none; id = table_[id].next) {
    if (key(id) > key(worst)) worst = id;
  }
  return worst;
}

// The engine's own loop over the running list, index arithmetic included.
void RunningFirst::plan_by_walk(SimTime now) {
  dissolve_cohort(now);
  SequenceId current = running_.first();
  while (current != SequenceId::none && budget_ > Tokens(0)) {
    const Sequence& asks = table_[current];
    const Tokens n = asks.in_cohort ? Tokens(0) : asks.affordable(asks.computed, wanted(asks), budget_);
    if (n <= Tokens(0)) {
      current = table_[current].next;
      continue;
    }
    std::int64_t passed_over = 0;
    bool granted = true;
    while (memory_->grow(current, table_[current].computed + n) != kv::Grant::granted) {
      const SequenceId loser = victim();
      const auto entry =
          std::find_if(planned_.begin(), planned_.end(), [&](const Planned& p) { return p.id == loser; });
      if (entry != planned_.end()) {
        budget_ += table_[loser].work(table_[loser].computed, table_[loser].computed + entry->fresh);
        planned_.erase(entry);
      } else if (table_[loser].order < table_[current].order) {
        ++passed_over;  // the list shifts under the engine's index, which moves on all the same
      }
      const bool itself = loser == current;
      beneficiary_ = table_[current].id;
      preempt(loser, now);
      if (itself) {
        granted = false;
        break;
      }
    }
    if (!granted) break;
    planned_.push_back({current, n, PlanEntry::Kind::running, Tokens(0)});
    budget_ -= table_[current].work(table_[current].computed, table_[current].computed + n);
    current = table_[current].next;
    for (; passed_over > 0 && current != SequenceId::none; --passed_over) current = table_[current].next;
  }
  prefilling_.clear();
  auto planned = planned_.begin();
  for (SequenceId id = running_.first(); id != SequenceId::none; id = table_[id].next) {
    if (table_[id].in_cohort) continue;
    prefilling_.push_back(id);
    if (planned != planned_.end() && planned->id == id) {
      ++planned;
    } else {
      skip(id);
    }
  }
}

void RunningFirst::leave_cohort(SequenceId id, SimTime now) {
  Cohort& cohort = cohorts_[index_of(table_[id].cohort)];
  cohort.leave(id);
  memory_->stop_decoding(id);
  // A member of the cohort got its last token when the step before ended, which is now.
  table_[id].last_token = now;
  if (cohort.under_way()) plan_by_itself(id, cohort);
}

// What beams let go may let the head in.
void RunningFirst::choose_parents() {
  if (memory_->choose_parents() > Blocks(0)) head_blocked_ = false;
}

const StepOutcome& RunningFirst::complete(SimTime now) {
  outcome_.clear();
  finished_.clear();
  if (pipelined()) receive_batch();

  if (cohort_planned_) {
    outcome_.tokens = outcome_.computed = outcome_.shared_gap = ready().size();
    ready().collect_finished(finished_);
  }
  outcome_.cohort = ready_;
  for (const Planned& planned : planned_) complete_planned(planned, now);
  if (outcome_.tokens > 0) outcome_.progress = true;

  std::sort(finished_.begin(), finished_.end(),
            [&](SequenceId a, SequenceId b) { return table_[a].order < table_[b].order; });
  for (const SequenceId id : finished_) finish(id, now);
  std::erase_if(prefilling_, [&](SequenceId id) { return table_[id].in_cohort; });
  return outcome_;
}

void RunningFirst::complete_planned(const Planned& planned, SimTime now) {
  Sequence& s = table_[planned.id];
  const Tokens before = planned.upto - planned.fresh;
  outcome_.computed += s.work(before, planned.upto).count();
  if (planned.again > Tokens(0)) outcome_.recomputed.push_back({s.id, s.work(before, before + planned.again)});
  if (planned.again < planned.fresh) outcome_.progress = true;
  const bool holds = planned.preemptions == s.preemptions;
  if (holds && s.preempted_at != kNever && planned.upto >= s.highest) {
    outcome_.restored.push_back({s.id, now - s.preempted_at, s.stall_waiting});
    s.preempted_at = kNever;
  }
  if (planned.upto != s.length()) return;

  ++s.generated;
  outcome_.tokens += s.width;
  if (s.generated == Tokens(1)) {
    outcome_.first_tokens.push_back(s.id);
  } else {
    outcome_.gaps.insert(outcome_.gaps.end(), static_cast<std::size_t>(s.width), now - s.last_token);
  }
  s.last_token = now;
  if (s.generated >= s.output) {
    finished_.push_back(planned.id);
  } else if (forms_cohorts_ && holds) {
    ready().join(planned.id);
    memory_->start_decoding(planned.id);
    if (pipelined()) outcome_.joined.push_back(s.id);
  }
}

void RunningFirst::finish(SequenceId id, SimTime now) {
  Sequence& s = table_[id];
  if (!s.seated) {
    finish_waiting(id, now);
    return;
  }
  if (s.in_cohort) ready().leave(id);
  // It had come back already when the token that it had lost its memory over came: what it computes again is for
  // nothing.
  const bool early = s.under_way > 0;
  if (early) outcome_.restored.push_back({s.id, now - s.preempted_at, s.stall_waiting});
  CHECK_LAW(s.generated == s.output && (early || memory_->written(id) == s.need.true_end),
            "request {} ends with {} of {} tokens, {} of {} written", index_of(s.id), s.generated.count(),
            s.output.count(), memory_->written(id).count(), s.need.true_end.count());
  outcome_.finished.push_back({s.id, s.generated});
  waiting_->ended(s.request, s.id, s.generated);
  end(id);
}

// A running sequence, no longer of the cohort, ends for good.
void RunningFirst::end(SequenceId id) {
  std::erase(prefilling_, id);
  memory_->release(id);
  memory_->forget(id);
  running_.remove(id);
  forget_under_way(id);
  table_.remove(id);
  head_blocked_ = false;
}

bool RunningFirst::abort(RequestId request) {
  for (SequenceId id = running_.first(); id != SequenceId::none; id = table_[id].next) {
    if (table_[id].id != request) continue;
    if (table_[id].in_cohort) cohorts_[index_of(table_[id].cohort)].leave(id);
    waiting_->ended(table_[id].request, request, table_[id].generated);
    end(id);
    return true;
  }
  const std::optional<Waiting> waiting = waiting_->remove(request);
  if (!waiting) return false;
  memory_->expect_no_more(request);
  if (waiting->sequence != SequenceId::none) {
    const Sequence& s = table_[waiting->sequence];
    if (s.admitted) waiting_->ended(s.request, request, s.generated);
    drop_all_kv(waiting->sequence);
    memory_->forget(waiting->sequence);
    forget_under_way(waiting->sequence);
    table_.remove(waiting->sequence);
  }
  memory_->clear_refusal();
  head_blocked_ = false;
  return true;
}

bool RunningFirst::plain_step(Batch& batch) {
  if (!forms_cohorts_ || pipelined() || !prefilling_.empty() || ready().size() == 0 || ready().finishes_next() ||
      copies_under_way())
    return false;
  if (options_.beam_search) choose_parents();
  const bool room_for_head = waiting_->size() > 0 && !closed_to_admission() && seats_for_head() &&
                             Tokens(ready().size()) < options_.max_num_batched_tokens;
  if ((room_for_head && !head_blocked_) || memory_->grow_decoding() != kv::Grant::granted) return false;
  if (waiting_->look_again() || (room_for_head && memory_->admission_changed(waiting_->front().sequence))) {
    // The blocks just published, or evicted, may let the head in, or another one to the head.
    cohort_grown_ = true;
    head_blocked_ = false;
    return false;
  }
  ready().advance();
  batch.decodes = batch.sampled = ready().size();
  batch.decode_context = ready().sum_context();
  batch.decode_context_squares = ready().sum_context_squares();
  batch.decode_longest = ready().longest_context();
  if (closed_to_admission()) {
    head_waits_for_ = QueueCause::seat;
  } else if (Tokens(ready().size()) >= options_.max_num_batched_tokens) {
    head_waits_for_ = QueueCause::token_budget;
  }
  describe_line(batch);
  return true;
}

}  // namespace blockyard::sched
