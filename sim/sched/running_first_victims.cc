// Part A of RunningFirst under a victim policy.
#include <algorithm>

#include "sim/sched/running_first.h"

namespace blockyard::sched {

// Everybody into prefilling_, so that the budget can bind anywhere in the list.
void RunningFirst::dissolve_cohort(SimTime now) {
  prefilling_.clear();
  for (SequenceId id = running_.first(); id != SequenceId::none; id = table_[id].next) {
    if (table_[id].in_cohort) leave_cohort(id, now);
    prefilling_.push_back(id);
  }
}

// Fills wanted_ in list order; the cohort has its tokens first, which is the same where the budget covers all.
void RunningFirst::share_budget() {
  wanted_.clear();
  Tokens left = options_.max_num_batched_tokens - Tokens(running_.cohort_size());
  for (const SequenceId id : prefilling_) {
    wanted_.push_back(std::max(Tokens(0), std::min(wanted(table_[id]), left)));
    left -= wanted_.back();
  }
}

void RunningFirst::plan_by_rank(SimTime now) {
  if (!options_.fast_forward || !budget_covers_all()) dissolve_cohort(now);
  share_budget();
  while (memory_demand() > memory_->available() || !grow_all()) {
    preempt(worst_of_running(), now);
    share_budget();  // the victim's tokens go to those behind it
  }
}

// Those that decode now. A member of the cohort and one outside it count alike.
DecodeLoad RunningFirst::decode_load() const {
  DecodeLoad load{running_.cohort_size(), running_.sum_context() + running_.cohort_size()};
  for (const SequenceId id : prefilling_) {
    if (!table_[id].decodes_next()) continue;
    ++load.sequences;
    load.context += table_[id].length().count();
  }
  return load;
}

SequenceId RunningFirst::worst_of_running() const {
  SequenceId worst = SequenceId::none;
  Rank highest;
  const bool times = victim_policy_->asks_for_restore_time();
  const DecodeLoad load = times ? decode_load() : DecodeLoad{};
  for (SequenceId id = running_.first(); id != SequenceId::none; id = table_[id].next) {
    const Sequence& s = table_[id];
    const Tokens since = s.in_cohort ? running_.progress(id) : Tokens(0);
    Candidate candidate;
    candidate.request = &s.request;
    candidate.grains = memory_->held_grains(id);
    candidate.computed = s.computed + since;
    candidate.remaining = s.output - s.generated - since;
    if (times) candidate.restore = restore_cost_->recompute(candidate.computed, load);
    const Rank rank = victim_policy_->rank(candidate);
    if (worst == SequenceId::none || rank >= highest) {
      worst = id;
      highest = rank;
    }
  }
  CHECK_LAW(worst != SequenceId::none, "memory is short and nobody runs; available {}", memory_->available());
  return worst;
}

}  // namespace blockyard::sched
