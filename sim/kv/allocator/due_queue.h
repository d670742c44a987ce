// Decoding sequences by the step in which they will need more memory, so that a step asks nobody else. Each cohort has
// a queue of its own; its steps are counted by its calls of grow_decoding, and of one step the sequences come in order
// of admission. Cost: O(log n) to add and to remove, O(1) a sequence that is due; nothing is allocated once warm.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <set>
#include <span>
#include <vector>

#include "sim/base/check.h"
#include "sim/base/ids.h"
#include "sim/kv/allocator/allocator.h"

namespace blockyard::kv {

class DueQueue {
 public:
  struct Entry {
    std::int64_t step = 0;
    std::uint64_t order = 0;  // of admission
    SequenceId id = SequenceId::none;
    auto operator<=>(const Entry&) const = default;
  };

  DueQueue() { set_cohorts(1); }
  void set_cohorts(std::size_t cohorts) {
    while (cohorts_.size() < cohorts) cohorts_.emplace_back(&pool_);
  }

  void add(CohortId cohort, const Entry& entry) { cohorts_[index_of(cohort)].insert(entry); }
  void remove(CohortId cohort, const Entry& entry) {
    CHECK_LAW(cohorts_[index_of(cohort)].erase(entry) == 1, "sequence {} is not due in step {}", index_of(entry.id),
              entry.step);
  }
  // Calls work(entry) for each that is due in `step`, in order; none may be due before.
  template <class Work>
  void for_each_due(CohortId cohort, std::int64_t step, Work work) const {
    for (const Entry& entry : cohorts_[index_of(cohort)]) {
      CHECK_LAW(entry.step >= step, "sequence {} was due in step {}", index_of(entry.id), entry.step);
      if (entry.step > step) return;
      work(entry);
    }
  }

 private:
  std::pmr::unsynchronized_pool_resource pool_;  // keeps the nodes for the next entries
  std::vector<std::pmr::set<Entry>> cohorts_;
};

// A sequence that grows in a step, from what it has written.
struct Growing {
  std::uint64_t order = 0;  // of admission
  SequenceId id = SequenceId::none;
  Tokens from;
  Tokens to;
};

// Into `growing`, in order of admission: the sequences of the cohort due in `step`, by one token each, and those of
// `others` that grow, to their totals. order(id) and written(id) are asked of each.
template <class Order, class Written>
void gather_growing(const DueQueue& due, CohortId cohort, std::int64_t step, std::span<const Growth> others,
                    Order order, Written written, std::vector<Growing>& growing) {
  growing.clear();
  due.for_each_due(cohort, step, [&](const DueQueue::Entry& entry) {
    const Tokens from = written(entry.id);
    growing.push_back({entry.order, entry.id, from, from + Tokens(1)});
  });
  for (const Growth& growth : others) {
    const Tokens from = written(growth.id);
    if (growth.total > from) growing.push_back({order(growth.id), growth.id, from, growth.total});
  }
  std::ranges::sort(growing, {}, &Growing::order);
}

}  // namespace blockyard::kv
