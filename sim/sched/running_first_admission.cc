// Who of those that wait RunningFirst admits, and what it asks before.
#include <algorithm>

#include "sim/sched/running_first.h"

namespace blockyard::sched {

void RunningFirst::admit_waiting() {
  bool refused = false;
  if (closed_to_admission()) {
    head_waits_for_ = QueueCause::seat;
    head_blocked_ = false;
    return;
  }
  while (waiting_->size() > 0 && budget_ > Tokens(0) && seats_for_head()) {
    Waiting& head = waiting_->front();
    if (head.sequence == SequenceId::none) head.sequence = open_sequence(head);
    const SequenceId id = head.sequence;
    Sequence& s = table_[id];
    // Who was swapped out looks as well: what is found need not be copied back.
    const bool looks = s.kept == Tokens(0);
    const Tokens hit = looks ? memory_->find_prefix(id, s.id, asked(s)) : Tokens(0);
    const Tokens start = std::max({hit, s.kept, s.saved});
    const bool copied_back = s.saved > std::max(hit, s.kept);
    Tokens n = s.length() - start;
    const Tokens threshold = options_.long_prefill_token_threshold;
    if (threshold > Tokens(0)) n = std::min(n, threshold);
    refused = true;  // unless all that follows goes well
    head_waits_for_ = QueueCause::token_budget;
    if (!options_.chunked_prefill && s.work(start, start + n) > budget_) break;
    n = s.affordable(start, n, budget_);
    if (n <= Tokens(0)) break;
    head_waits_for_ = QueueCause::kv_memory;
    if (s.ready > now_) break;
    // While it is copied back it holds room for one token more, so that it can go on then.
    const bool fetches = hit > Tokens(0) && memory_->prefix_comes_later(id);
    const bool later = fetches || (copied_back && host_->overlap());
    if (!gates_open(id, s) || take_memory(id, s, start + (later ? Tokens(1) : n)) != kv::Grant::granted) {
      if (running_.size() == 0 && holder_ != SequenceId::none && holder_ != id) {
        beneficiary_ = s.id;
        shed(holder_, memory_->total_grains(), SwapCause::more);  // nobody else would ever make room
        continue;
      }
      if (memory_->refused_although_free() && !head.refusal_counted) {
        head.refusal_counted = true;
        ++batch_.refused_although_free;
      }
      break;
    }
    refused = false;
    if (!s.admitted) {
      batch_.admitted.push_back(s.id);
    } else {
      s.stall_waiting += now_ - s.waits_since;
      if (!copied_back) batch_.resumed.push_back(s.id);
    }
    s.computed = start;
    if (s.kept > Tokens(0) || s.saved > Tokens(0)) bring_back(id, hit);
    if (looks) {
      batch_.looked_up += asked(s).count();
      batch_.hit += hit.count();
    }
    if (s.admitted && looks) {
      batch_.looked_up_resumed += asked(s).count();
      batch_.hit_resumed += hit.count();
    }
    waiting_->pop_front();
    running_.append(id);
    prefilling_.push_back(id);
    if (fetches) {
      s.ready = memory_->prefix_arrives(id);
      batch_.fetching.push_back(s.id);
    }
    if (later) {
      s.admitted = true;
      continue;
    }
    planned_.push_back({id, n, s.admitted ? PlanEntry::Kind::resumed : PlanEntry::Kind::admitted, hit});
    budget_ -= s.work(start, start + n);
  }
  if (!refused && budget_ <= Tokens(0)) head_waits_for_ = QueueCause::token_budget;
  head_blocked_ = refused && planned_.empty();
}

// What samples wrote beyond the prompt is not found again.
Tokens RunningFirst::asked(const Sequence& s) {
  return s.width == 1 ? s.length() : std::min(s.length(), s.request.prompt_tokens + Tokens(1));
}

Tokens RunningFirst::cached_prefix(Waiting& waiting) {
  if (waiting.sequence == SequenceId::none) waiting.sequence = open_sequence(waiting);
  const Sequence& s = table_[waiting.sequence];
  if (s.kept > Tokens(0) || s.saved > Tokens(0)) return std::max(s.kept, s.saved);
  return memory_->cached_prefix(waiting.sequence, s.id, asked(s));
}

SequenceId RunningFirst::open_sequence(const Waiting& waiting) {
  const SequenceId id = table_.add();
  Sequence& s = table_[id];
  s.id = waiting.id;
  s.request = waiting.request;
  memory_->belongs(id, s.id);
  s.need = need_of(waiting.request, options_.max_model_len);
  s.need.request = waiting.id;
  s.width = waiting.request.samples;
  s.output = s.need.true_end - s.need.prompt + Tokens(1);
  return id;
}

// Tests at admission only, against the demand of the whole known sequence. The allocation itself still takes no more
// than the chunk.
bool RunningFirst::gates_open(SequenceId id, const Sequence& s) const {
  if (options_.watermark_grains == 0 && !options_.reserve_full_isl) return true;
  const Tokens whole = std::min(s.length(), options_.max_model_len);
  const std::int64_t demand =
      s.kept > Tokens(0) ? memory_->demand(id, whole) : memory_->admission_demand(id, s.need, whole);
  return memory_->available() - demand >= options_.watermark_grains;
}

bool RunningFirst::seats_for_head() const {
  return running_.seats() + waiting_->front().request.samples <= options_.max_num_seqs;
}

}  // namespace blockyard::sched
