// The running list: sequences with a seat, in order of admission (order ascends along it). All calls O(1).
#pragma once

#include <cstdint>

#include "sim/sched/sequence.h"

namespace blockyard::sched {

class RunningList {
 public:
  explicit RunningList(SequenceTable& table) : table_(&table) {}

  void append(SequenceId id);
  void remove(SequenceId id);
  [[nodiscard]] SequenceId first() const { return first_; }
  [[nodiscard]] SequenceId last() const { return last_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] std::int64_t seats() const { return seats_; }  // sequences of them: the sum of their widths

 private:
  SequenceTable* table_;
  SequenceId first_ = SequenceId::none;
  SequenceId last_ = SequenceId::none;
  std::int64_t size_ = 0;
  std::int64_t seats_ = 0;
  std::uint64_t appended_ = 0;
};

}  // namespace blockyard::sched
