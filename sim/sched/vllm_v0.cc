#include "sim/sched/vllm_v0.h"

#include <algorithm>

namespace blockyard::sched {

VllmV0::VllmV0(const VllmV0Options& options, kv::V0Memory& memory, KvLink* link)
    : options_(options), memory_(&memory), link_(link), budget_(options.max_num_batched_tokens, options.max_num_seqs) {
  CHECK_LAW(options.preemption == V0Preemption::recompute || !memory.prefix_caching(),
            "swapping under prefix caching, preemption mode {}", static_cast<int>(options.preemption));
}

void VllmV0::arrive(RequestId id, const workload::Request& request) {
  SequenceId sequence{};
  if (unused_.empty()) {
    sequence = static_cast<SequenceId>(rows_.size());
    rows_.emplace_back();
  } else {
    sequence = unused_.back();
    unused_.pop_back();
    row(sequence) = Row{};
  }
  row(sequence).id = id;
  row(sequence).request = request;
  waiting_.push_back(sequence);
}

const Batch& VllmV0::schedule(SimTime now) {
  ++step_;
  now_ = now;
  budget_.new_step();
  memory_->clear_moves();
  for (auto* part : {&prefills_, &running_prefills_, &decodes_, &swapped_in_prefills_, &swapped_in_decodes_, &plan_}) {
    part->clear();
  }
  recomputed_.clear();
  swapped_out_.clear();
  batch_.clear();
  batch_.head_waits_for = QueueCause::kv_memory;  // unless an attempt to admit the head finds another cause

  if (options_.chunked_prefill) {
    schedule_chunked();
  } else {
    schedule_default();
  }
  if (!batch_.failure.empty()) return batch_;
  describe_batch();
  describe_line();
  memory_->end_of_schedule();
  return batch_;
}

void VllmV0::describe_batch() {
  for (const Planned& planned : plan_) {
    Row& r = row(planned.id);
    r.planned_in = step_;
    const Tokens context = r.computed + planned.fresh.cached;
    const Tokens after = context + planned.fresh.uncached;
    if (planned.prefill) {
      batch_.chunks.push_back({planned.fresh.uncached, context, r.id, after == r.length()});
    } else {
      ++batch_.decodes;
      batch_.decode_context += after.count();
      batch_.decode_context_squares += after.count() * after.count();
      batch_.decode_longest = std::max(batch_.decode_longest, after.count());
    }
    if (after == r.length()) ++batch_.sampled;
    memory_->plan(planned.id, after, step_);
  }
}

// Swapped-out ones go before the waiting ones.
void VllmV0::describe_line() {
  for (const SequenceId id : running_) {
    if (row(id).planned_in != step_) batch_.skipped.push_back(row(id).id);
  }
  if (!recomputed_.empty() || !swapped_.empty()) batch_.head_waits_for = QueueCause::kv_memory;
  if (!swapped_.empty()) {
    batch_.head = row(swapped_.front()).id;
  } else if (!waiting_.empty()) {
    batch_.head = row(waiting_.front()).id;
  }
}

const StepOutcome& VllmV0::complete(SimTime now) {
  outcome_.clear();
  finished_.clear();
  for (const Planned& planned : plan_) complete_one(planned, now);
  if (!finished_.empty()) {
    // Their memory is free already; they leave the list together.
    std::erase_if(running_, [&](SequenceId id) { return row(id).generated < Tokens(0); });
    for (const SequenceId id : finished_) close(id);
  }
  return outcome_;
}

void VllmV0::complete_one(const Planned& planned, SimTime now) {
  Row& r = row(planned.id);
  const Tokens before = r.computed + planned.fresh.cached;
  r.computed = before + planned.fresh.uncached;
  outcome_.computed += planned.fresh.uncached.count();
  const Tokens again = std::min(r.computed, r.highest) - before;
  if (again > Tokens(0)) outcome_.recomputed.push_back({r.id, again});
  if (again < planned.fresh.uncached) outcome_.progress = true;
  if (r.preempted_at != kNever && r.computed >= r.highest) {
    outcome_.restored.push_back({r.id, now - r.preempted_at, r.stall_waiting});
    r.preempted_at = kNever;
  }
  if (r.computed < r.length()) return;

  r.decoding = true;
  ++r.generated;
  ++outcome_.tokens;
  outcome_.progress = true;
  if (r.generated == Tokens(1)) {
    outcome_.first_tokens.push_back(r.id);
  } else if (r.last_token == now_) {
    ++outcome_.shared_gap;
  } else {
    outcome_.gaps.push_back(now - r.last_token);
  }
  r.last_token = now;
  if (r.generated < output_of(r)) return;
  outcome_.finished.push_back({r.id, r.generated});
  memory_->release(planned.id);
  finished_.push_back(planned.id);
  r.generated = Tokens(-1);
}

void VllmV0::ignore(SequenceId id) {
  batch_.ignored.push_back({row(id).id, row(id).generated});
  close(id);
}

void VllmV0::close(SequenceId id) {
  memory_->forget(id);
  unused_.push_back(id);
}

bool VllmV0::abort(RequestId request) {
  for (Queue* queue : {&waiting_, &running_, &swapped_}) {
    const auto place = std::find_if(queue->begin(), queue->end(), [&](SequenceId id) { return row(id).id == request; });
    if (place == queue->end()) continue;
    const SequenceId id = *place;
    queue->erase(place);
    memory_->release(id);
    close(id);
    return true;
  }
  return false;
}

void VllmV0::describe_plan(std::vector<PlanEntry>& out) const {
  out.clear();
  for (const Planned& planned : plan_) {
    PlanEntry entry{row(planned.id).id,   planned.fresh.uncached, planned.kind,
                    planned.fresh.cached, planned.prefill,        Tokens(0)};
    if (planned.prefill && memory_->prefix_caching()) entry.memorised = memory_->memorised(planned.id);
    out.push_back(entry);
  }
}

void VllmV0::running_list(std::vector<RequestId>& requests, std::vector<SequenceId>& sequences) const {
  requests.clear();
  sequences.assign(running_.begin(), running_.end());
  for (const SequenceId id : running_) requests.push_back(row(id).id);
}

}  // namespace blockyard::sched
