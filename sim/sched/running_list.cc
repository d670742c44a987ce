#include "sim/sched/running_list.h"

namespace blockyard::sched {

void RunningList::append(SequenceId id) {
  Sequence& s = (*table_)[id];
  s.order = appended_++;
  s.previous = last_;
  s.next = SequenceId::none;
  s.seated = true;
  (last_ == SequenceId::none ? first_ : (*table_)[last_].next) = id;
  last_ = id;
  ++size_;
  seats_ += s.width;
}

void RunningList::remove(SequenceId id) {
  Sequence& s = (*table_)[id];
  CHECK_LAW(!s.in_cohort, "sequence {} leaves the running list before the cohort", index_of(id));
  (s.previous == SequenceId::none ? first_ : (*table_)[s.previous].next) = s.next;
  (s.next == SequenceId::none ? last_ : (*table_)[s.next].previous) = s.previous;
  s.seated = false;
  --size_;
  seats_ -= s.width;
}

}  // namespace blockyard::sched
