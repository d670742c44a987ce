// The passes of vLLM V0's scheduler: who runs, who comes in, who has to go.
#include <algorithm>

#include "sim/sched/vllm_v0.h"

namespace blockyard::sched {

bool VllmV0::less_urgent(SequenceId a, SequenceId b) const {
  return std::pair(row(a).request.priority, row(a).request.arrival) >
         std::pair(row(b).request.priority, row(b).request.arrival);
}

// A decode has one. A prefill has what it lacks, less what the prefix cache holds; of a full hit the last token is
// computed all the same. With chunking, what is left of the budget caps the uncached part, in whole blocks if there is
// a prefix cache.
VllmV0::Fresh VllmV0::fresh_tokens(SequenceId id, Chunking chunking) {
  const Row& r = row(id);
  Fresh fresh{Tokens(1), Tokens(0)};
  if (!r.decoding) {
    const Tokens lacking = r.length() - r.computed;
    const Tokens longest = r.request.prompt_tokens + output_of(r) + Tokens(1);
    const Tokens known = memory_->cached_tokens(id, r.id, r.length(), longest);
    fresh.cached = std::max(Tokens(0), known - r.computed);
    fresh.uncached = lacking - fresh.cached;
    if (fresh.uncached == Tokens(0) && fresh.cached > Tokens(0)) {
      ++fresh.uncached;
      --fresh.cached;
    }
  }
  if (chunking == Chunking::on) fresh.uncached = std::min(fresh.uncached, memory_->whole_blocks_of(budget_.left()));
  return fresh;
}

void VllmV0::schedule_default() {
  for (const SequenceId id : running_) budget_.add_seat(id);
  if (swapped_.empty()) admit_prefills(Chunking::off);
  if (prefills_.empty()) {
    if (options_.priority) drive_out_for_priority();
    pass_over_running(Chunking::off);
    if (!batch_.failure.empty()) return;
    if (recomputed_.empty() && swapped_out_.empty()) swap_in();
  }
  put_back_preempted();
  for (const auto* part : {&prefills_, &decodes_, &swapped_in_decodes_}) {
    plan_.insert(plan_.end(), part->begin(), part->end());
    for (const Planned& planned : *part) running_.push_back(planned.id);
  }
}

void VllmV0::schedule_chunked() {
  pass_over_running(Chunking::on);
  if (!batch_.failure.empty()) return;
  if (recomputed_.empty() && swapped_out_.empty()) swap_in();
  admit_prefills(Chunking::on);
  put_back_preempted();
  for (const auto* part : {&swapped_in_decodes_, &swapped_in_prefills_, &decodes_, &running_prefills_, &prefills_}) {
    for (const Planned& planned : *part) running_.push_back(planned.id);
  }
  for (const auto* part : {&prefills_, &running_prefills_, &swapped_in_prefills_, &decodes_, &swapped_in_decodes_}) {
    plan_.insert(plan_.end(), part->begin(), part->end());
  }
}

// Takes the running list from its front, victims from its back; who is not reached stays in it.
void VllmV0::pass_over_running(Chunking chunking) {
  while (!running_.empty()) {
    const SequenceId id = running_.front();
    const Tokens n = fresh_tokens(id, chunking).uncached;
    if (n == Tokens(0)) break;
    running_.pop_front();
    bool stays = true;
    while (stays && !memory_->can_append(id, row(id).length())) {
      budget_.subtract_tokens(id, n);
      budget_.subtract_seat(id);
      SequenceId victim = id;
      if (running_.empty()) {
        stays = false;
      } else {
        victim = running_.back();
        running_.pop_back();
      }
      preempt(victim, id);
      if (!batch_.failure.empty()) return;
    }
    if (!stays) continue;
    memory_->append(id, row(id).length());
    auto& part = row(id).decoding ? decodes_ : running_prefills_;
    part.push_back({id, {n, Tokens(0)}, !row(id).decoding, PlanEntry::Kind::running});
    budget_.add_tokens(id, n);
    if (chunking == Chunking::on) budget_.add_seat(id);
  }
}

void VllmV0::admit_prefills(Chunking chunking) {
  const Tokens limit = chunking == Chunking::on ? options_.max_model_len
                                                : std::min(options_.max_model_len, options_.max_num_batched_tokens);
  while (!waiting_.empty()) {
    const SequenceId id = waiting_.front();
    Row& r = row(id);
    const Fresh fresh = fresh_tokens(id, chunking);
    const kv::Room room = memory_->room_for(r.length());
    if (fresh.uncached + fresh.cached > limit || room == kv::Room::never) {
      waiting_.pop_front();
      ignore(id);
      continue;
    }
    batch_.head_waits_for = room == kv::Room::later ? QueueCause::kv_memory : QueueCause::token_budget;
    if (budget_.full()) batch_.head_waits_for = QueueCause::seat;
    if (room == kv::Room::later || budget_.left() <= Tokens(0)) break;
    if (fresh.uncached == Tokens(0) || !budget_.fits(fresh.uncached)) break;
    waiting_.pop_front();
    memory_->admit(id, r.length());
    if (r.admitted) r.stall_waiting += now_ - r.waits_since;
    prefills_.push_back({id, fresh, true, r.admitted ? PlanEntry::Kind::resumed : PlanEntry::Kind::admitted});
    batch_.looked_up += r.length().count();
    batch_.hit += fresh.cached.count();
    if (r.admitted) {
      batch_.looked_up_resumed += r.length().count();
      batch_.hit_resumed += fresh.cached.count();
      batch_.resumed.push_back(r.id);
    } else {
      batch_.admitted.push_back(r.id);
    }
    r.admitted = true;
    budget_.add_tokens(id, fresh.uncached);
    budget_.add_seat(id);
  }
}

// Never cut to the budget, not even with chunked prefill: a prefill that lacks more than one budget stays out for ever.
void VllmV0::swap_in() {
  while (!swapped_.empty()) {
    const SequenceId id = swapped_.front();
    const kv::Room room = memory_->room_to_swap_in(id, row(id).length());
    if (room == kv::Room::never) {
      swapped_.pop_front();
      ignore(id);
      continue;
    }
    if (room == kv::Room::later) break;
    const Fresh fresh = fresh_tokens(id, Chunking::off);
    if (fresh.uncached == Tokens(0) || !budget_.fits(fresh.uncached)) break;
    swapped_.pop_front();
    const Blocks blocks = memory_->swap_in(id);
    batch_.swapped_in.push_back({row(id).id, blocks});
    if (link_ != nullptr) batch_.held_until = link_->begin_in(now_, {blocks, blocks.count()});
    row(id).stall_waiting += now_ - row(id).waits_since;
    memory_->append(id, row(id).length());
    auto& part = row(id).decoding ? swapped_in_decodes_ : swapped_in_prefills_;
    part.push_back({id, fresh, !row(id).decoding, PlanEntry::Kind::resumed});
    budget_.add_tokens(id, fresh.uncached);
    budget_.add_seat(id);
  }
}

// Stable: equally urgent ones keep their order.
void VllmV0::sort_by_urgency(Queue& queue) {
  by_urgency_.clear();
  for (std::size_t i = 0; i < queue.size(); ++i) by_urgency_.emplace_back(queue[i], i);
  std::sort(by_urgency_.begin(), by_urgency_.end(), [&](const auto& a, const auto& b) {
    if (less_urgent(b.first, a.first)) return true;
    return !less_urgent(a.first, b.first) && a.second < b.second;
  });
  for (std::size_t i = 0; i < queue.size(); ++i) queue[i] = by_urgency_[i].first;
}

// The head of waiting, as the step before left it, drives out running requests less urgent than itself until it could
// be admitted, or none is left. It comes in with the next step's prefills.
void VllmV0::drive_out_for_priority() {
  sort_by_urgency(running_);
  if (waiting_.empty()) return;
  const SequenceId urgent = waiting_.front();
  waiting_.pop_front();
  const Tokens n = fresh_tokens(urgent, Chunking::off).uncached;
  while (!running_.empty() && less_urgent(running_.back(), urgent)) {
    const bool could_come = n > Tokens(0) && memory_->room_for(row(urgent).length()) == kv::Room::now;
    if (could_come && budget_.fits(n)) break;
    const SequenceId victim = running_.back();
    running_.pop_back();
    budget_.subtract_tokens(victim, Tokens(1));
    budget_.subtract_seat(victim);
    preempt_by_recompute(victim, urgent);
    waiting_.push_front(victim);
  }
  waiting_.push_front(urgent);
  sort_by_urgency(waiting_);
}

void VllmV0::preempt(SequenceId id, SequenceId beneficiary) {
  if (options_.preemption == V0Preemption::swap) {
    if (memory_->can_swap_out(id, row(id).length())) {
      const Blocks blocks = memory_->swap_out(id);
      batch_.swapped_out.push_back({row(id).id, blocks, SwapCause::victim, row(beneficiary).id});
      if (link_ != nullptr) batch_.held_until = link_->begin_out(now_, {blocks, blocks.count()});
      swapped_out_.push_back(id);
      lose_seat(row(id));
      return;
    }
    if (!options_.recompute_when_host_is_full) {
      batch_.failure = kHostExhausted;
      return;
    }
  }
  preempt_by_recompute(id, beneficiary);
  recomputed_.push_back(id);
}

void VllmV0::preempt_by_recompute(SequenceId id, SequenceId beneficiary) {
  Row& r = row(id);
  memory_->release(id);
  r.highest = std::max(r.highest, r.computed);
  r.computed = Tokens(0);
  r.decoding = false;
  lose_seat(r);
  batch_.preempted.push_back({r.id, row(beneficiary).id});
}

void VllmV0::lose_seat(Row& r) {
  if (r.preempted_at == kNever) {
    r.preempted_at = now_;
    r.stall_waiting = SimTime(0);
  }
  r.waits_since = now_;
}

void VllmV0::put_back_preempted() {
  for (const SequenceId id : recomputed_) waiting_.push_front(id);
  for (const SequenceId id : swapped_out_) swapped_.push_back(id);
}

}  // namespace blockyard::sched
