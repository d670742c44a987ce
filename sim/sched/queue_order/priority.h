// By (priority ascending, arrival time, arrival order): a preempted request goes back to its own place. O(log n) a
// call.
#pragma once

#include <compare>
#include <map>
#include <tuple>

#include "sim/base/check.h"
#include "sim/sched/waiting_queue.h"

namespace blockyard::sched {

class Priority final : public WaitingQueue {
 public:
  void push(const Waiting& waiting) override {
    const Key key{waiting.request.priority, waiting.request.arrival, waiting.id};
    CHECK_LAW(queue_.emplace(key, waiting).second, "request {} waits twice", index_of(waiting.id));
  }
  void push_preempted(const Waiting& waiting) override { push(waiting); }
  Waiting& front() override {
    CHECK_LAW(!queue_.empty(), "front of an empty queue");
    return queue_.begin()->second;
  }
  void pop_front() override {
    CHECK_LAW(!queue_.empty(), "pop of an empty queue");
    queue_.erase(queue_.begin());
  }
  std::optional<Waiting> remove(RequestId id) override {
    for (auto entry = queue_.begin(); entry != queue_.end(); ++entry) {
      if (entry->second.id != id) continue;
      const Waiting removed = entry->second;
      queue_.erase(entry);
      return removed;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::int64_t size() const override { return static_cast<std::int64_t>(queue_.size()); }

 private:
  using Key = std::tuple<std::int32_t, SimTime, RequestId>;
  std::map<Key, Waiting> queue_;
};

}  // namespace blockyard::sched
