// What becomes of RunningFirst's victims, and how they come back.
#include <algorithm>

#include "sim/sched/running_first.h"

namespace blockyard::sched {

void RunningFirst::preempt(SequenceId id, SimTime now) {
  take_off(id, now);
  Sequence& s = table_[id];
  const Tokens computed = s.computed;
  s.highest = std::max(s.highest, computed);
  s.computed = Tokens(0);
  if (options_.tail_blocks > Tokens(0)) {
    // That it asks for nothing itself may be enough.
    s.kept = computed;
    memory_->shrink(id, computed);
    holder_ = id;
    share_budget();
    shed(id, std::max<std::int64_t>(0, shortage()), SwapCause::tail);
  } else {
    give_up(id, Tokens(0), computed, SwapCause::victim);
  }
  waiting_->push_preempted({s.request, s.id, id, false, s.generated});
  memory_->expect(s.id);
}

// Out of the running list and of all that goes with it.
void RunningFirst::take_off(SequenceId id, SimTime now) {
  Sequence& s = table_[id];
  if (s.in_cohort) {
    leave_cohort(id, now);
  } else if (!prefilling_.empty() && prefilling_.back() == id) {
    prefilling_.pop_back();
  } else {
    std::erase(prefilling_, id);
  }
  running_.remove(id);
  ++s.preemptions;
  s.ready = SimTime(0);
  if (s.preempted_at == kNever) {
    s.preempted_at = now;
    s.stall_waiting = SimTime(0);
  }
  s.waits_since = now;
  short_of_memory_ = true;
  head_blocked_ = false;
}

// A waiting sequence gives back as many of its last blocks as make `grains`, or all.
void RunningFirst::shed(SequenceId id, std::int64_t grains, SwapCause cause) {
  const Tokens held = table_[id].kept;
  const std::int64_t left = std::max<std::int64_t>(0, memory_->held_grains(id) - grains);
  give_up(id, std::min(held, options_.tail_blocks * left), held, cause);
  short_of_memory_ = true;
}

// Tokens [keep, to) of a waiting sequence leave the GPU. What the host holds is of use only if it follows on them.
void RunningFirst::give_up(SequenceId id, Tokens keep, Tokens to, SwapCause cause) {
  Sequence& s = table_[id];
  Way way = Way::recompute;
  if (host_ != nullptr && keep < to) {
    way = host_->way(now_, keep, to, host_->asks_for_load() ? decode_load() : DecodeLoad{});
  }
  if (way == Way::swap) {
    if (cause == SwapCause::tail && keep == Tokens(0)) cause = SwapCause::victim;
    batch_.swapped_out.push_back({s.id, host_->save(s, keep, to, now_), cause, beneficiary_});
  } else {
    if (host_ != nullptr && keep < to) host_->drop(s);
    if (cause != SwapCause::more) batch_.preempted.push_back({s.id, beneficiary_});
  }
  s.kept = keep;
  ++changes_of_kept_;
  if (keep > Tokens(0)) {
    if (keep < to) memory_->shrink(id, keep);
    return;
  }
  if (holder_ == id) holder_ = SequenceId::none;
  if (way == Way::swap && host_->overlap()) {
    leaving_.push_back(id);
  } else {
    memory_->release(id);
  }
}

// The client of a waiting request is gone.
void RunningFirst::drop_all_kv(SequenceId id) {
  Sequence& s = table_[id];
  if (s.kept > Tokens(0) || std::erase(leaving_, id) > 0) memory_->release(id);
  if (holder_ == id) holder_ = SequenceId::none;
  if (host_ != nullptr) host_->drop(s);
}

bool RunningFirst::copies_under_way() const { return !leaving_.empty() || (host_ != nullptr && host_->returning()); }

void RunningFirst::settle_copies() {
  host_->settle(now_);
  std::erase_if(leaving_, [&](SequenceId id) {
    if (table_[id].ready > now_) return false;
    memory_->release(id);
    return true;
  });
  head_blocked_ = false;
}

kv::Grant RunningFirst::take_memory(SequenceId id, const Sequence& s, Tokens first) {
  return s.kept > Tokens(0) ? memory_->grow(id, first) : memory_->admit(id, s.need, first);
}

// It has its seat and its memory: what is on the host comes back, but for what was found on the GPU.
void RunningFirst::bring_back(SequenceId id, Tokens found) {
  Sequence& s = table_[id];
  const Tokens there = std::max(found, s.kept);
  if (s.saved > there) {
    const SwapCause cause = s.kept > Tokens(0) ? SwapCause::tail : SwapCause::victim;
    batch_.swapped_in.push_back({s.id, host_->fetch(s, there, now_), cause});
  } else if (host_ != nullptr) {
    host_->drop(s);
  }
  s.kept = Tokens(0);
  if (holder_ == id) holder_ = SequenceId::none;
}

// Copies of victims hold up the step that begins them; those that overlap, and fetches, hold up only an engine with
// nothing else to do.
void RunningFirst::hold_for_copies() {
  if (host_ != nullptr && !host_->overlap() && !(batch_.swapped_out.empty() && batch_.swapped_in.empty())) {
    batch_.held_until = host_->last_end();
    return;
  }
  if (!batch_.empty()) return;
  SimTime next = host_ == nullptr ? kNever : host_->next_return();
  for (const SequenceId id : prefilling_) {
    if (table_[id].ready > now_) next = std::min(next, table_[id].ready);
  }
  for (const SequenceId id : leaving_) next = std::min(next, table_[id].ready);
  if (next != kNever) batch_.held_until = next;
}

}  // namespace blockyard::sched
