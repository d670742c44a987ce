// The batches of RunningFirst that are under way in a pipeline.
#include <algorithm>
#include <optional>

#include "sim/sched/running_first.h"

namespace blockyard::sched {

// What is planned goes on its way. Whoever has its tokens next joins a cohort that nobody is in.
void RunningFirst::send_batch() {
  CHECK_LAW(sent_ < under_way_.size(), "{} batches are under way already", sent_);
  UnderWay& sent = under_way_[(oldest_ + sent_) % under_way_.size()];
  for (const Planned& planned : planned_) ++table_[planned.id].under_way;
  sent.planned.swap(planned_);
  sent.planned_at = now_;
  ++sent_;
  if (!cohort_planned_) return;
  sent.cohort = ready_;
  ready().set_under_way(true);
  const auto unused =
      std::ranges::find_if(cohorts_, [](const Cohort& cohort) { return !cohort.under_way() && cohort.size() == 0; });
  CHECK_LAW(unused != cohorts_.end(), "all {} cohorts are in use with {} batches under way", cohorts_.size(), sent_);
  make_ready(unused->id());
}

// The oldest batch has its result, and stands in planned_; its cohort is ready again.
void RunningFirst::receive_batch() {
  CHECK_LAW(sent_ > 0, "{} batches are under way", sent_);
  UnderWay& batch = under_way_[oldest_];
  planned_.swap(batch.planned);
  batch.planned.clear();
  oldest_ = (oldest_ + 1) % under_way_.size();
  --sent_;
  for (const Planned& planned : planned_) --table_[planned.id].under_way;
  CHECK_LAW(ready().size() == 0, "{} sequences have their tokens, and no batch was planned since", ready().size());
  cohort_planned_ = batch.cohort.has_value();
  if (!cohort_planned_) return;
  make_ready(*batch.cohort);
  ready().set_under_way(false);
  batch.cohort.reset();
}

void RunningFirst::make_ready(CohortId cohort) {
  ready_ = cohort;
  memory_->turn(cohort);
}

// It has left its cohort, whose batch is under way: its part of the batch goes on by itself.
void RunningFirst::plan_by_itself(SequenceId id, const Cohort& cohort) {
  Sequence& s = table_[id];
  const auto batch = std::ranges::find_if(under_way_, [&](const UnderWay& sent) { return sent.cohort == cohort.id(); });
  CHECK_LAW(batch != under_way_.end(), "no batch of cohort {} is under way", index_of(cohort.id()));
  Planned planned{id, Tokens(1), PlanEntry::Kind::running, Tokens(0)};
  planned.upto = s.computed;
  planned.preemptions = s.preemptions;
  batch->planned.push_back(planned);
  ++s.under_way;
  s.last_token = batch->planned_at;  // as it was planned as soon as it had it
}

// A sequence has ended that batches under way compute something of.
void RunningFirst::forget_under_way(SequenceId id) {
  if (table_[id].under_way == 0) return;
  for (UnderWay& batch : under_way_) {
    std::erase_if(batch.planned, [id](const Planned& planned) { return planned.id == id; });
  }
}

// The last token of a request that was preempted while its batch was under way.
void RunningFirst::finish_waiting(SequenceId id, SimTime now) {
  Sequence& s = table_[id];
  outcome_.restored.push_back({s.id, now - s.preempted_at, s.stall_waiting + (now - s.waits_since)});
  outcome_.finished.push_back({s.id, s.generated});
  const std::optional<Waiting> waiting = waiting_->remove(s.id);
  CHECK_LAW(waiting.has_value(), "request {} neither runs nor waits", index_of(s.id));
  memory_->expect_no_more(s.id);
  waiting_->ended(s.request, s.id, s.generated);
  memory_->forget(id);
  memory_->clear_refusal();
  forget_under_way(id);
  table_.remove(id);
  head_blocked_ = false;
}

}  // namespace blockyard::sched
