// The replica's steps where replicas that share experts take theirs together.
#include <algorithm>

#include "sim/serving/replica.h"

namespace blockyard::serving {

void Replica::end(SimTime now) {
  if (!step_in_flight()) return;
  if (in_flight_ == InFlight::others_step) {
    end_others_step(now);
  } else {
    end_step(now);
  }
  hand_over_arrivals();
  check_clock(now);
}

void Replica::end_others_step(SimTime now) {
  CHECK_LAW(now == step_end_, "the step ends at {} ns, told {} ns", step_end_.count(), now.count());
  collector_->advance(now);
  in_flight_ = InFlight::nothing;
  note_load();
  for (const RequestId id : leaving_) let_go(now, id);
  leaving_.clear();
}

cost::StepWork Replica::plan(SimTime now, bool helped) {
  helped_ = helped;
  planned_ = Planned{};
  if (!wants_to_step()) {
    in_flight_ = InFlight::others_step;
    return {};
  }
  now_ = now;
  collector_->advance(now);
  memory_->advance(now);
  const bool plain = scheduler_->plain_step(plain_batch_);
  const sched::Batch& batch = plain ? plain_batch_ : scheduler_->schedule(now);
  in_flight_ = plain ? InFlight::plain_step : InFlight::step;
  planned_.batch = &batch;
  if (!plain) planned_.held = std::max(SimTime(0), batch.held_until - now);
  planned_.computing = duration(batch);
  planned_.copying = memory_time();
  return batch.empty() ? cost::StepWork{} : work_of(batch);
}

void Replica::take(SimTime now, SimTime lasts) {
  idle_ = false;
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
  }
  tell_state();
  planned_waiting_ = scheduler_->waiting();
}

}  // namespace blockyard::serving
