// By (key ascending, arrival time, arrival order), whatever the key: a preempted request goes back to its own place.
// A request with a large key may be overtaken for ever. O(log n) a call, but for remove and change_all: O(n).
#pragma once

#include <map>
#include <tuple>
#include <utility>

#include "sim/base/check.h"
#include "sim/sched/waiting_queue.h"

namespace blockyard::sched {

class Keyed : public WaitingQueue {
 public:
  void push(const Waiting& waiting) override {
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
  // Smaller goes first. It changes in change_all() alone.
  [[nodiscard]] virtual std::int64_t key(const Waiting& waiting) const = 0;
  // Calls `change` for all who wait, more than once for some, and puts them where their keys are then.
  template <class Change>
  void change_all(const Change& change) {
    for (auto next = queue_.begin(); next != queue_.end();) {
      const auto entry = next++;
      change(entry->second);
      const std::int64_t now = key(entry->second);
      if (now == std::get<0>(entry->first)) continue;
      auto node = queue_.extract(entry);
      std::get<0>(node.key()) = now;
      queue_.insert(std::move(node));
    }
  }

 private:
  using Key = std::tuple<std::int64_t, SimTime, RequestId>;
  std::map<Key, Waiting> queue_;
};

}  // namespace blockyard::sched
