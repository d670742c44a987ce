// What RunningFirst tells of the step it has planned.
#include <algorithm>

#include "sim/sched/running_first.h"

namespace blockyard::sched {

// A seat is asked for first: without one, room in the budget and in memory would not help.
void RunningFirst::describe_line(Batch& batch) {
  if (waiting_->size() == 0) return;
  batch.head = waiting_->front().id;
  batch.head_waits_for = seats_for_head() ? head_waits_for_ : QueueCause::seat;
}

// Sums of the batch, and the engine's `computed += n` for every planned sequence, at once and before the result is
// known.
void RunningFirst::describe_batch() {
  if (cohort_planned_) {
    ready().advance();
    batch_.decodes = ready().size();
    batch_.decode_context = ready().sum_context();
    batch_.decode_context_squares = ready().sum_context_squares();
    batch_.decode_longest = ready().longest_context();
    batch_.sampled = ready().size();
    if (pipelined()) batch_.cohort = ready_;
  }
  for (Planned& planned : planned_) {
    Sequence& s = table_[planned.id];
    if (s.decodes_next()) {
      const std::int64_t context = s.length().count();
      if (pipelined()) batch_.decoding.push_back(s.id);
      batch_.decodes += s.width;
      batch_.decode_context += s.width * context;
      batch_.decode_context_squares += s.width * context * context;
      batch_.decode_longest = std::max(batch_.decode_longest, context);
    } else {
      describe_chunk(s, planned.fresh);
    }
    planned.again = std::max(Tokens(0), std::min(s.computed + planned.fresh, s.highest) - s.computed);
    s.computed += planned.fresh;
    planned.upto = s.computed;
    planned.preemptions = s.preemptions;
    // The first tokens of all samples are drawn from the one last position of the prompt.
    if (s.computed == s.length()) batch_.sampled += s.generated > Tokens(0) ? s.width : 1;
    s.admitted = true;
  }
}

// Recomputation beyond the prompt is a chunk of each sequence.
void RunningFirst::describe_chunk(const Sequence& s, Tokens fresh) {
  const Tokens prompt = s.width == 1 ? fresh : std::clamp(s.request.prompt_tokens - s.computed, Tokens(0), fresh);
  const bool last = s.computed + fresh == s.length();
  if (prompt > Tokens(0)) batch_.chunks.push_back({prompt, s.computed, s.id, last && prompt == fresh});
  if (prompt == fresh) return;
  for (std::int64_t k = 0; k < s.width; ++k) batch_.chunks.push_back({fresh - prompt, s.computed + prompt, s.id, last});
}

void RunningFirst::describe_plan(std::vector<PlanEntry>& out) const {
  out.clear();
  // In a pipeline it is on its way by now.
  const UnderWay* sent = nullptr;
  if (pipelined() && !batch_.empty()) sent = &under_way_[(oldest_ + sent_ - 1) % under_way_.size()];
  const std::vector<Planned>& all = sent == nullptr ? planned_ : sent->planned;
  auto planned = all.begin();
  for (SequenceId id = running_.first(); id != SequenceId::none; id = table_[id].next) {
    const Sequence& s = table_[id];
    const bool decodes = sent == nullptr ? cohort_planned_ && s.in_cohort : s.in_cohort && s.cohort == sent->cohort;
    if (planned != all.end() && planned->id == id) {
      out.push_back({table_[id].id, planned->fresh, planned->kind, planned->hit});
      ++planned;
    } else if (decodes) {
      out.push_back({table_[id].id, Tokens(1), PlanEntry::Kind::running, Tokens(0)});
    }
  }
}

void RunningFirst::running_list(std::vector<RequestId>& requests, std::vector<SequenceId>& sequences) const {
  requests.clear();
  sequences.clear();
  for (SequenceId id = running_.first(); id != SequenceId::none; id = table_[id].next) {
    requests.push_back(table_[id].id);
    sequences.push_back(id);
  }
}

}  // namespace blockyard::sched
