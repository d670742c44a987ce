// Part A of RunningFirst where victims are chosen before anybody is given tokens.
#include <algorithm>

#include "sim/sched/running_first.h"

namespace blockyard::sched {

// Everybody that is not under way into prefilling_, so that the budget can bind anywhere in the list.
void RunningFirst::dissolve_cohort(SimTime now) {
  prefilling_.clear();
  for (SequenceId id = running_.first(); id != SequenceId::none; id = table_[id].next) {
    if (is_ready(table_[id])) leave_cohort(id, now);
    if (!table_[id].in_cohort) prefilling_.push_back(id);
  }
}

// Fills wanted_ in list order; the cohort has its tokens first, which is the same where the budget covers all.
void RunningFirst::share_budget() {
  wanted_.clear();
  Tokens left = options_.max_num_batched_tokens - Tokens(ready().size());
  for (const SequenceId id : prefilling_) {
    const Sequence& s = table_[id];
    wanted_.push_back(std::max(Tokens(0), s.affordable(s.computed, wanted(s), left)));
    left -= s.work(s.computed, s.computed + wanted_.back());
  }
}

// Grains that the running ones ask for beyond those that are free, or will be when copies have ended.
std::int64_t RunningFirst::shortage() const {
  std::int64_t leaving = 0;
  for (const SequenceId id : leaving_) leaving += memory_->held_grains(id);
  return memory_demand() - memory_->available() - leaving;
}

// The first in list order that would find no room if each were given what wanted_ says in turn; the loser itself where
// all would, but for what is free lying in pieces too small.
void RunningFirst::name_beneficiary(SequenceId loser) {
  if (!names_beneficiaries_) return;
  beneficiary_ = table_[loser].id;
  std::int64_t left = memory_->available();
  for (const SequenceId id : leaving_) left += memory_->held_grains(id);
  std::size_t i = 0;
  for (SequenceId id = running_.first(); id != SequenceId::none; id = table_[id].next) {
    Tokens total = memory_->written(id) + Tokens(1);
    if (table_[id].in_cohort) {
      if (!is_ready(table_[id])) continue;
    } else {
      const Tokens wanted = wanted_[i++];
      if (wanted <= Tokens(0)) continue;
      total = table_[id].computed + wanted;
    }
    left -= memory_->demand(id, total);
    if (left >= 0) continue;
    beneficiary_ = table_[id].id;
    return;
  }
}

void RunningFirst::plan_by_rank(SimTime now) {
  if (!options_.fast_forward || !budget_covers_all()) dissolve_cohort(now);
  share_budget();
  for (;;) {
    // Where regions move, demand says too much: what one leaves the next may take. A plain step asks for no more.
    if (memory_->order_decides() && grow_all()) return;
    const std::int64_t lacking = shortage();
    if (lacking <= 0) {
      if (memory_demand() <= memory_->available() && grow_all()) return;
      if (!leaving_.empty()) break;
      // What is free lies in pieces too small: somebody has to go all the same.
    } else if (holder_ != SequenceId::none) {
      name_beneficiary(holder_);
      shed(holder_, lacking, SwapCause::more);
      continue;
    }
    const SequenceId loser = worst_of_running();
    if (loser == SequenceId::none) break;  // all others are on their way back from the host
    name_beneficiary(loser);
    preempt(loser, now);
    share_budget();  // the victim's tokens go to those behind it
  }
  grow_some(now);
}

// Not all find room: blocks are on the way to the host and not free yet, or nobody else can go. Who finds none skips
// the step.
void RunningFirst::grow_some(SimTime now) {
  short_of_memory_ = true;
  dissolve_cohort(now);
  share_budget();
  for (std::size_t i = 0; i < prefilling_.size(); ++i) {
    const SequenceId id = prefilling_[i];
    const bool grows =
        wanted_[i] > Tokens(0) && memory_->grow(id, table_[id].computed + wanted_[i]) == kv::Grant::granted;
    if (!grows) {
      skip(id);
      continue;
    }
    planned_.push_back({id, wanted_[i], PlanEntry::Kind::running, Tokens(0)});
    budget_ -= table_[id].work(table_[id].computed, table_[id].computed + wanted_[i]);
  }
}

// It runs and is given no token; who waits for its KV to come back is not skipped.
void RunningFirst::skip(SequenceId id) {
  if (table_[id].under_way > 0) return;  // it waits for the result of a batch before this one
  (table_[id].ready <= now_ ? batch_.skipped : batch_.fetching).push_back(table_[id].id);
}

// Those that decode now. A member of the cohort and one outside it count alike.
DecodeLoad RunningFirst::decode_load() const {
  DecodeLoad load{ready().size(), ready().sum_context() + ready().size()};
  for (const SequenceId id : prefilling_) {
    if (!table_[id].decodes_next() || table_[id].ready > now_) continue;
    load.sequences += table_[id].width;
    load.context += table_[id].width * table_[id].length().count();
  }
  return load;
}

Rank RunningFirst::rank_of(SequenceId id, const DecodeLoad& load) const {
  const Sequence& s = table_[id];
  if (victim_policy_ == nullptr) {
    return victims_by_priority_ ? Rank{s.request.priority, s.request.arrival.count()} : Rank{};
  }
  const Tokens since = s.in_cohort ? ready().progress(id) : Tokens(0);
  Candidate candidate;
  candidate.request = &s.request;
  candidate.grains = memory_->held_grains(id);
  candidate.computed = s.computed + since;
  candidate.remaining = s.output - s.generated - since;
  if (victim_policy_->asks_for_restore_time()) {
    candidate.restore = host_ != nullptr ? host_->restore_time(now_, candidate.computed, load)
                                         : restore_cost_->recompute(s.work(Tokens(0), candidate.computed), load);
  }
  return victim_policy_->rank(candidate);
}

SequenceId RunningFirst::worst_of_running() const {
  SequenceId worst = SequenceId::none;
  Rank highest;
  const bool times = victim_policy_ != nullptr && victim_policy_->asks_for_restore_time();
  const DecodeLoad load = times ? decode_load() : DecodeLoad{};
  for (SequenceId id = running_.first(); id != SequenceId::none; id = table_[id].next) {
    if (table_[id].ready > now_) continue;
    const Rank rank = rank_of(id, load);
    if (worst == SequenceId::none || rank >= highest) {
      worst = id;
      highest = rank;
    }
  }
  return worst;
}

}  // namespace blockyard::sched
