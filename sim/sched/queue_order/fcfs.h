// First come, first served: arrivals join at the back, preempted requests return to the front.
// A ring that doubles: nothing is allocated once it has seen its longest queue. All calls O(1), but for remove: O(those
// before it).
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "sim/base/check.h"
#include "sim/sched/waiting_queue.h"

namespace blockyard::sched {

class Fcfs final : public WaitingQueue {
 public:
  void push(const Waiting& waiting) override {
    make_room();
    at(size_) = waiting;
    ++size_;
  }
  void push_preempted(const Waiting& waiting) override {
    make_room();
    first_ = (first_ + ring_.size() - 1) & (ring_.size() - 1);
    ring_[first_] = waiting;
    ++size_;
  }
  Waiting& front() override {
    CHECK_LAW(size_ > 0, "front of an empty queue");
    return ring_[first_];
  }
  void pop_front() override {
    CHECK_LAW(size_ > 0, "pop of an empty queue");
    first_ = (first_ + 1) & (ring_.size() - 1);
    --size_;
  }
  std::optional<Waiting> remove(RequestId id) override {
    for (std::size_t i = 0; i < size_; ++i) {
      if (at(i).id != id) continue;
      const Waiting removed = at(i);
      for (; i > 0; --i) at(i) = at(i - 1);
      pop_front();
      return removed;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::int64_t size() const override { return static_cast<std::int64_t>(size_); }

 private:
  Waiting& at(std::size_t i) { return ring_[(first_ + i) & (ring_.size() - 1)]; }
  void make_room() {
    if (size_ < ring_.size()) return;
    std::vector<Waiting> larger(ring_.empty() ? 64 : 2 * ring_.size());
    for (std::size_t i = 0; i < size_; ++i) larger[i] = at(i);
    ring_ = std::move(larger);
    first_ = 0;
  }

  std::vector<Waiting> ring_;  // a power of two
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace blockyard::sched
