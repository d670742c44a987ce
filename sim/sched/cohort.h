// Sequences that only decode, and stand in one batch: each takes one token a step, all together.
//
// A step count stands for the progress of each, sums stand for their contexts, and a timing wheel holds them by the
// step in which they finish, so that a step costs O(1 + sequences that finish in it) (Varghese & Lauck, SOSP 1987,
// scheme 6), and a heap the longest: as all grow alike, who is longer stays so. Law: sum_context == sum over the
// members of their computed tokens; likewise of the squares.
//
// In a pipeline a step's batch is sent when it is planned, and received when its tokens are known; in between the last
// token that is computed for each member is not yet generated.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/sched/sequence.h"

namespace blockyard::sched {

class Cohort {
 public:
  Cohort(SequenceTable& table, CohortId id);

  // A sequence joins when its next step is a decode; `computed` and `generated` are true again once it has left.
  void join(SequenceId id);
  void leave(SequenceId id);
  // Tokens that a member has computed since it joined.
  [[nodiscard]] Tokens progress(SequenceId id) const { return Tokens(steps_ - (*table_)[id].joined_step); }
  [[nodiscard]] CohortId id() const { return id_; }
  [[nodiscard]] std::int64_t size() const { return size_; }  // sequences: the sum of the widths
  [[nodiscard]] std::int64_t sum_context() const { return sum_context_; }
  [[nodiscard]] std::int64_t sum_context_squares() const { return sum_context_squares_; }
  // The longest context, 0 without members. O(log n) for each member that has left, else O(1).
  [[nodiscard]] std::int64_t longest_context();

  // True if some member finishes with the next step.
  [[nodiscard]] bool finishes_next() const;
  // Every member computes one token: O(1).
  void advance();
  // Members that finish with the step just advanced; appended to `out`, still members.
  void collect_finished(std::vector<SequenceId>& out) const;

  // In a pipeline: the step just advanced is on its way, or is not any more.
  void set_under_way(bool under_way) { under_way_ = under_way; }
  [[nodiscard]] bool under_way() const { return under_way_; }

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
    return s.in_cohort && s.cohort == id_ && s.joined_as == joined.as;
  }

  SequenceTable* table_;
  CohortId id_;
  bool under_way_ = false;
  std::int64_t steps_ = 0;
  std::int64_t size_ = 0;
  std::int64_t sum_context_ = 0;
  std::int64_t sum_context_squares_ = 0;
  std::int64_t members_ = 0;
  std::int64_t joins_ = 0;
  std::vector<Joined> joined_;  // a heap, the longest first
  std::vector<SequenceId> wheel_;
};

inline void Cohort::advance() {
  ++steps_;
  sum_context_squares_ += 2 * sum_context_ + size_;
  sum_context_ += size_;
}

}  // namespace blockyard::sched
