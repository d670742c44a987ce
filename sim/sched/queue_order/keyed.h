// By (key ascending, arrival time, arrival order), whatever the key: a preempted request goes back to its own place.
// A request with a large key may be overtaken for ever. O(log n) a call, but for remove: O(n).
#pragma once

#include <map>
#include <tuple>

#include "sim/base/check.h"
#include "sim/sched/waiting_queue.h"

namespace blockyard::sched {

class Keyed : public WaitingQueue {
 public:
  void push(const Waiting& waiting) final {
    const Key place{key(waiting), waiting.request.arrival, waiting.id};
    CHECK_LAW(queue_.emplace(place, waiting).second, "request {} waits twice", index_of(waiting.id));
  }
  void push_preempted(const Waiting& waiting) final { push(waiting); }
  Waiting& front() final {
    CHECK_LAW(!queue_.empty(), "front of an empty queue");
    return queue_.begin()->second;
  }
  void pop_front() final {
    CHECK_LAW(!queue_.empty(), "pop of an empty queue");
    queue_.erase(queue_.begin());
  }
  std::optional<Waiting> remove(RequestId id) final {
    for (auto entry = queue_.begin(); entry != queue_.end(); ++entry) {
      if (entry->second.id != id) continue;
      const Waiting removed = entry->second;
      queue_.erase(entry);
      return removed;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::int64_t size() const final { return static_cast<std::int64_t>(queue_.size()); }

 protected:
  // Smaller goes first. It does not change while the request waits.
  [[nodiscard]] virtual std::int64_t key(const Waiting& waiting) const = 0;

 private:
  using Key = std::tuple<std::int64_t, SimTime, RequestId>;
  std::map<Key, Waiting> queue_;
};

}  // namespace blockyard::sched
