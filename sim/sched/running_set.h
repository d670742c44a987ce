// The running list and, within it, the cohort of sequences that only decode.
//
// The list keeps the order of admission (order ascends along it). The cohort advances by one token a step all together:
// a step count stands for the progress of each, sums stand for their contexts, and a timing wheel holds them by the
// step in which they finish, so that a step costs O(1 + sequences that finish in it) (Varghese & Lauck, SOSP 1987,
// scheme 6), and a heap the longest: as all grow alike, who is longer stays so. Law: sum_context == sum over the
// cohort's sequences of their computed tokens; likewise of the squares.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/sched/sequence.h"

namespace blockyard::sched {

class RunningSet {
 public:
  explicit RunningSet(SequenceTable& table);

  // The running list. All O(1).
  void append(SequenceId id);
  void remove(SequenceId id);
  [[nodiscard]] SequenceId first() const { return first_; }
  [[nodiscard]] SequenceId last() const { return last_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] std::int64_t seats() const { return seats_; }  // sequences of them: the sum of their widths

  // The cohort. A sequence joins when its next step is a decode; `computed` and `generated` are true again once it has
  // left.
  void join(SequenceId id);
  void leave(SequenceId id);
  // Tokens that a member has computed, and generated, since it joined.
  [[nodiscard]] Tokens progress(SequenceId id) const { return Tokens(steps_ - (*table_)[id].joined_step); }
  [[nodiscard]] std::int64_t cohort_size() const { return cohort_size_; }  // sequences: the sum of the widths
  [[nodiscard]] std::int64_t sum_context() const { return sum_context_; }
  [[nodiscard]] std::int64_t sum_context_squares() const { return sum_context_squares_; }
  // The longest context of the cohort, 0 without members. O(log n) for each member that has left, else O(1).
  [[nodiscard]] std::int64_t longest_context();

  // True if some member of the cohort finishes with the next step.
  [[nodiscard]] bool finishes_next() const;
  // Every member computes one token: O(1).
  void advance();
  // Members that finish with the step just advanced; appended to `out`, still members.
  void collect_finished(std::vector<SequenceId>& out) const;

 private:
  [[nodiscard]] std::size_t cell(std::int64_t step) const {
    return static_cast<std::size_t>(step) & (wheel_.size() - 1);
  }

  // A member as it joined; it may have left since.
  struct Joined {
    std::int64_t context;  // less the steps taken by then: the order of contexts, whenever they joined
    SequenceId id;
    std::int64_t as;
    [[nodiscard]] bool operator<(const Joined& other) const { return context < other.context; }
  };
  [[nodiscard]] bool is_member(const Joined& joined) const {
    const Sequence& s = (*table_)[joined.id];
    return s.in_cohort && s.joined_as == joined.as;
  }

  SequenceTable* table_;
  SequenceId first_ = SequenceId::none;
  SequenceId last_ = SequenceId::none;
  std::int64_t size_ = 0;
  std::int64_t seats_ = 0;
  std::uint64_t appended_ = 0;

  std::int64_t steps_ = 0;
  std::int64_t cohort_size_ = 0;
  std::int64_t sum_context_ = 0;
  std::int64_t sum_context_squares_ = 0;
  std::int64_t members_ = 0;    // of the cohort
  std::int64_t joins_ = 0;
  std::vector<Joined> joined_;  // a heap, the longest first
  std::vector<SequenceId> wheel_;
};

inline void RunningSet::advance() {
  ++steps_;
  sum_context_squares_ += 2 * sum_context_ + cohort_size_;
  sum_context_ += cohort_size_;
}

}  // namespace blockyard::sched
