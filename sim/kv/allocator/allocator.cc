#include "sim/kv/allocator/allocator.h"

#include <utility>

namespace blockyard::kv {

Allocator::State& Allocator::state(SequenceId id) {
  CHECK_LAW(index_of(id) < states_.size() && states_[index_of(id)].open, "sequence {} holds no memory", index_of(id));
  return states_[index_of(id)];
}

Tokens Allocator::written(SequenceId id) const {
  if (index_of(id) >= states_.size() || !states_[index_of(id)].open) return Tokens(0);
  return written_now(states_[index_of(id)]);
}

Grant Allocator::admit(SequenceId id, const SequenceNeed& need, Tokens first) {
  if (index_of(id) >= states_.size()) states_.resize(index_of(id) + 1);
  CHECK_LAW(!states_[index_of(id)].open, "sequence {} is admitted twice", index_of(id));
  const bool known = refused_although_free_ && refused_ == id;
  refused_although_free_ = false;
  const Grant grant = do_admit(id, need, first);
  if (grant == Grant::granted) {
    states_[index_of(id)] = {first, -1, CohortId{}, true};
    total_written_ += first;
    tell(MemoryOperation::admit, id, first);
  } else if (refused_although_free_) {
    refused_ = id;
    if (!known) tell(MemoryOperation::refuse, id, Tokens(0));
  }
  return grant;
}

Grant Allocator::grow(SequenceId id, Tokens total) {
  State& s = state(id);
  CHECK_LAW(s.since < 0 && total >= s.written, "sequence {}: grow to {} from {}", index_of(id), total.count(),
            s.written.count());
  const Grant grant = do_grow(id, s.written, total);
  if (grant == Grant::granted) {
    const Tokens more = total - s.written;
    total_written_ += more;
    s.written = total;
    if (more > Tokens(0)) tell(MemoryOperation::grow, id, more);
  }
  return grant;
}

void Allocator::release(SequenceId id) {
  State& s = state(id);
  if (s.since >= 0) stop_decoding(id);
  do_release(id, s.written);
  total_written_ -= s.written;
  s.open = false;
  refused_although_free_ = false;
  tell(MemoryOperation::release, id, s.written);
}

void Allocator::clear_refusal() {
  if (!refused_although_free_) return;
  refused_although_free_ = false;
  tell(MemoryOperation::clear, refused_, Tokens(0));
}

void Allocator::shrink(SequenceId id, Tokens total) {
  State& s = state(id);
  CHECK_LAW(s.since < 0 && total > Tokens(0) && total <= s.written, "sequence {}: shrink to {} from {}", index_of(id),
            total.count(), s.written.count());
  do_shrink(id, s.written, total);
  total_written_ -= s.written - total;
  s.written = total;
  refused_although_free_ = false;
}

void Allocator::do_shrink(SequenceId id, Tokens from, Tokens to) {
  CHECK_LAW(from == to, "sequence {} cannot shrink from {} to {} here", index_of(id), from.count(), to.count());
}

void Allocator::turn(CohortId cohort) {
  CHECK_LAW(decodes_by_turns() || cohort == CohortId{}, "cohort {} of a strategy with one", index_of(cohort));
  turn_ = cohort;
  if (index_of(cohort) < cohorts_.size()) return;
  cohorts_.resize(index_of(cohort) + 1);
  set_cohorts(cohorts_.size());
}

void Allocator::start_decoding(SequenceId id) {
  State& s = state(id);
  CHECK_LAW(s.since < 0, "sequence {} decodes already", index_of(id));
  do_start_decoding(id, s.written);
  s.since = decode_steps();
  s.cohort = turn_;
  ++cohorts_[index_of(turn_)].members;
}

void Allocator::stop_decoding(SequenceId id) {
  State& s = state(id);
  CHECK_LAW(s.since >= 0, "sequence {} does not decode", index_of(id));
  s.written = written_now(s);
  s.since = -1;
  const CohortId turn = std::exchange(turn_, s.cohort);
  do_stop_decoding(id, s.written);
  --cohorts_[index_of(turn_)].members;
  turn_ = turn;
}

Grant Allocator::grow_decoding(std::span<const Growth> others) {
  const Grant grant = do_grow_decoding(others);
  if (grant == Grant::no_space) return grant;
  Cohort& cohort = cohorts_[index_of(turn_)];
  total_written_ += Tokens(cohort.members);
  ++cohort.steps;
  for (const Growth& growth : others) {
    State& s = state(growth.id);
    CHECK_LAW(s.since < 0 && growth.total >= s.written, "sequence {}: grow to {} from {}", index_of(growth.id),
              growth.total.count(), s.written.count());
    const Tokens more = growth.total - s.written;
    total_written_ += more;
    s.written = growth.total;
    if (more > Tokens(0)) tell(MemoryOperation::grow, growth.id, more);
  }
  return grant;
}

}  // namespace blockyard::kv
