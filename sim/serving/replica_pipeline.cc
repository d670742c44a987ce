// The replica's batches on their way through a pipeline.
#include <algorithm>

#include "sim/serving/replica.h"

namespace blockyard::serving {
// As long as there is room and something to compute. Returns when the oldest has left the last stage.
SimTime Replica::send_batches(SimTime now) {
  while (batches_ < under_way_.size() && anybody() && send_batch(now)) {
  }
  tell_state();
  return under_way_[oldest_].end;
}

// False if there is nothing to compute: then the engine waits for the oldest batch, or, with none under way, takes the
// time of an empty step.
bool Replica::send_batch(SimTime now) {
  now_ = step_start_ = now;
  collector_->advance(now);
  memory_->advance(now);
  const sched::Batch& batch = scheduler_->schedule(now);
  if (options_.tells_load) planned_waiting_ = scheduler_->waiting();
  metrics::StepCharge line{SimTime(0), SimTime(0), SimTime(0), batch.head_waits_for, std::nullopt};
  if (scheduler_->waiting() > 0) line.head = record(batch.head);
  collector_->time(number_).step_begins(now, line);
  record_batch(now, batch);
  for (const RequestId id : batch.skipped) collector_->time(number_).skipped(record(id));
  for (const RequestId id : batch.decoding) collector_->time(number_).decodes_by_itself(record(id));
  if (batch.empty() && batches_ > 0) return false;

  UnderWay& sent = under_way_[(oldest_ + batches_) % under_way_.size()];
  sent.start = now;
  sent.computes = sent.sends = SimTime(0);
  sent.parts.clear();
  sent.cohort.reset();
  sent.end = enter_pipeline(sent, batch);
  ++batches_;
  ++steps_started_;
  return !batch.empty();
}

SimTime Replica::enter_pipeline(UnderWay& sent, const sched::Batch& batch) {
  cost::StepWork work;
  const cost::StepTime computing = duration(batch, work);
  const SimTime copying = memory_time();
  if (batch.empty()) {
    idle_ = scheduler_->running() == 0 && copying == SimTime(0);
    return sent.start + (idle_ ? as_one(computing.total, sent.start) : computing.total + copying);
  }
  idle_ = false;
  steps_as_one_ = 1;
  cost_->stage_passes(work, passes_);
  for (const cost::StagePass& pass : passes_) {
    sent.computes += pass.computes;
    sent.sends += pass.sends;
  }
  for_chunks_of_each(batch, computing,
                     [&](RequestId id, SimTime own, SimTime overhead) { sent.parts.push_back({id, own, overhead}); });
  const SimTime own = std::min(computing.decodes_alone, computing.total);
  const SimTime overhead = std::min(computing.overhead, own);
  for (const RequestId id : batch.decoding) sent.parts.push_back({id, own - overhead, overhead});
  sent.cohort = batch.cohort;
  sent.of_cohort = {RequestId{}, own - overhead, overhead};
  const SimTime end = pipeline_->enter(sent.start + copying, passes_);
  if (options_.step_taken) tell_step(sent.start, end, work);
  return end;
}

void Replica::receive_batch(SimTime now) {
  const UnderWay& batch = under_way_[oldest_];
  now_ = step_end_ = now;
  CHECK_LAW(now == batch.end, "the batch ends at {} ns, told {} ns", batch.end.count(), now.count());
  collector_->advance(now);
  metrics::TimeLedger& time = collector_->time(number_);
  time.line_waits(now);
  for (const UnderWay::Part& part : batch.parts) {
    time.worked(record(part.request), batch.start, now, part.own, part.overhead);
  }
  if (batch.cohort) time.cohort_worked(*batch.cohort, batch.start, now, batch.of_cohort.own, batch.of_cohort.overhead);
  if (batch.computes > SimTime(0)) {
    collector_->passed_pipeline(now - std::max(batch.start, idle_from_), batch.computes, batch.sends);
  }
  idle_from_ = now;
  oldest_ = (oldest_ + 1) % under_way_.size();
  --batches_;
  const sched::StepOutcome& outcome = scheduler_->complete(now);
  record_outcome(now, batch.start, outcome);
  for (const RequestId id : outcome.joined) time.joins(record(id), now, outcome.cohort);
  note_load();
  memory_->step_ended(now);
  for (const RequestId id : leaving_) let_go(now, id);
  leaving_.clear();
}

}  // namespace blockyard::serving
