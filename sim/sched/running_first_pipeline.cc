// The batches of RunningFirst that are under way in a pipeline.
#include <algorithm>
#include <optional>

#include "sim/sched/running_first.h"

namespace blockyard::sched {

// What is planned goes on its way.
void RunningFirst::send_batch() {
  CHECK_LAW(sent_ < under_way_.size(), "{} batches are under way already", sent_);
  for (const Planned& planned : planned_) ++table_[planned.id].under_way;
  under_way_[(oldest_ + sent_) % under_way_.size()].swap(planned_);
  ++sent_;
}

// The oldest batch has its result, and stands in planned_.
void RunningFirst::receive_batch() {
  CHECK_LAW(sent_ > 0, "{} batches are under way", sent_);
  planned_.swap(under_way_[oldest_]);
  under_way_[oldest_].clear();
  oldest_ = (oldest_ + 1) % under_way_.size();
  --sent_;
  for (const Planned& planned : planned_) --table_[planned.id].under_way;
}

// A sequence has ended that batches under way compute something of.
void RunningFirst::forget_under_way(SequenceId id) {
  if (table_[id].under_way == 0) return;
  for (std::vector<Planned>& batch : under_way_) {
    std::erase_if(batch, [id](const Planned& planned) { return planned.id == id; });
  }
}

// The last token of a request that was preempted while its batch was under way.
void RunningFirst::finish_waiting(SequenceId id, SimTime now) {
  Sequence& s = table_[id];
  outcome_.restored.push_back({s.id, now - s.preempted_at, s.stall_waiting + (now - s.waits_since)});
  outcome_.finished.push_back({s.id, s.generated});
  const std::optional<Waiting> waiting = waiting_->remove(s.id);
  CHECK_LAW(waiting.has_value(), "request {} neither runs nor waits", index_of(s.id));
  memory_->expect_no_more(s.id);
  waiting_->ended(s.request, s.id, s.generated);
  memory_->forget(id);
  memory_->clear_refusal();
  forget_under_way(id);
  table_.remove(id);
  head_blocked_ = false;
}

}  // namespace blockyard::sched
