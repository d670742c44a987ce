#include "sim/sched/cohort.h"

#include <algorithm>
#include <iterator>

namespace blockyard::sched {
namespace {
// Cells of the timing wheel: a power of two near the longest usual output. Longer ones stay in their cell for more than
// one turn.
constexpr std::size_t kWheelCells = 4096;
// Those that have left are cleared away when they are this many more than the members.
constexpr std::int64_t kStale = 64;
}  // namespace

Cohort::Cohort(SequenceTable& table, CohortId id) : table_(&table), id_(id), wheel_(kWheelCells, SequenceId::none) {}

void Cohort::join(SequenceId id) {
  Sequence& s = (*table_)[id];
  CHECK_LAW(!s.in_cohort && !under_way_ && s.decodes_next() && s.generated < s.output,
            "sequence {} joins: {} of {} generated", index_of(id), s.generated.count(), s.output.count());
  s.in_cohort = true;
  s.cohort = id_;
  s.joined_step = steps_;
  s.finish_step = steps_ + (s.output - s.generated).count();
  SequenceId& head = wheel_[cell(s.finish_step)];
  s.wheel_previous = SequenceId::none;
  s.wheel_next = head;
  if (head != SequenceId::none) (*table_)[head].wheel_previous = id;
  head = id;
  ++members_;
  s.joined_as = joins_++;
  if (std::ssize(joined_) > kStale + 2 * members_) {
    std::erase_if(joined_, [this](const Joined& joined) { return !is_member(joined); });
    std::make_heap(joined_.begin(), joined_.end());
  }
  joined_.push_back({s.computed.count() - steps_, id, s.joined_as});
  std::push_heap(joined_.begin(), joined_.end());
  size_ += s.width;
  sum_context_ += s.width * s.computed.count();
  sum_context_squares_ += s.width * s.computed.count() * s.computed.count();
}

void Cohort::leave(SequenceId id) {
  Sequence& s = (*table_)[id];
  CHECK_LAW(s.in_cohort && s.cohort == id_, "sequence {} is not in the cohort {}", index_of(id), index_of(id_));
  const Tokens since = progress(id);
  s.in_cohort = false;
  --members_;
  s.computed += since;
  s.generated += since - Tokens(under_way_ ? 1 : 0);
  (s.wheel_previous == SequenceId::none ? wheel_[cell(s.finish_step)] : (*table_)[s.wheel_previous].wheel_next) =
      s.wheel_next;
  if (s.wheel_next != SequenceId::none) (*table_)[s.wheel_next].wheel_previous = s.wheel_previous;
  size_ -= s.width;
  sum_context_ -= s.width * s.computed.count();
  sum_context_squares_ -= s.width * s.computed.count() * s.computed.count();
}

std::int64_t Cohort::longest_context() {
  while (!joined_.empty() && !is_member(joined_.front())) {
    std::pop_heap(joined_.begin(), joined_.end());
    joined_.pop_back();
  }
  return joined_.empty() ? 0 : joined_.front().context + steps_;
}

bool Cohort::finishes_next() const {
  for (SequenceId id = wheel_[cell(steps_ + 1)]; id != SequenceId::none; id = (*table_)[id].wheel_next) {
    if ((*table_)[id].finish_step == steps_ + 1) return true;
  }
  return false;
}

void Cohort::collect_finished(std::vector<SequenceId>& out) const {
  for (SequenceId id = wheel_[cell(steps_)]; id != SequenceId::none; id = (*table_)[id].wheel_next) {
    if ((*table_)[id].finish_step == steps_) out.push_back(id);
  }
}

}  // namespace blockyard::sched
