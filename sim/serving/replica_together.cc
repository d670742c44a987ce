// The replica's steps where replicas that share experts take theirs together.
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

const cost::StepWork& Replica::plan(SimTime now, bool helped) {
  helped_ = helped;
  if (wants_to_step()) {
    plan_step(now);
  } else {
    in_flight_ = InFlight::others_step;
    planned_ = {};
  }
  return planned_.work;
}

}  // namespace blockyard::serving
