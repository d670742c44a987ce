// Decoding sequences by the step in which they will need more memory, so that a step asks nobody else. A step is
// counted by the calls of grow_decoding; of one step the sequences come in order of admission. Cost: O(log n) to add
// and to remove, O(1) a sequence that is due; nothing is allocated once warm.
#pragma once

#include <algorithm>
#include <compare>
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

  void add(const Entry& entry) { entries_.insert(entry); }
  void remove(const Entry& entry) {
    CHECK_LAW(entries_.erase(entry) == 1, "sequence {} is not due in step {}", index_of(entry.id), entry.step);
  }
  // Calls work(entry) for each that is due in `step`, in order; none may be due before.
  template <class Work>
  void for_each_due(std::int64_t step, Work work) const {
    for (const Entry& entry : entries_) {
      CHECK_LAW(entry.step >= step, "sequence {} was due in step {}", index_of(entry.id), entry.step);
      if (entry.step > step) return;
      work(entry);
    }
  }

 private:
  std::pmr::unsynchronized_pool_resource pool_;  // keeps the nodes for the next entries
  std::pmr::set<Entry> entries_{&pool_};
};

// A sequence that grows in a step, from what it has written.
struct Growing {
  std::uint64_t order = 0;  // of admission
  SequenceId id = SequenceId::none;
  Tokens from;
  Tokens to;
};

// Into `growing`, in order of admission: the sequences due in `step`, by one token each, and those of `others` that
// grow, to their totals. order(id) and written(id) are asked of each.
template <class Order, class Written>
void gather_growing(const DueQueue& due, std::int64_t step, std::span<const Growth> others, Order order,
                    Written written, std::vector<Growing>& growing) {
  growing.clear();
  due.for_each_due(step, [&](const DueQueue::Entry& entry) {
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
