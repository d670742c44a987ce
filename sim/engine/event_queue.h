// Simulated time and the order of events. An event is a small value; events leave in the total order (time, rank,
// sequence): the earlier first, at one time the smaller rank, at one rank the one pushed first. Law: time never runs
// backwards. Cost: push and pop O(log n) on a 4-ary heap (Boost.Heap); n is the number of pending events, not of
// requests.
#pragma once

#include <boost/heap/d_ary_heap.hpp>
#include <cstdint>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/quantities.h"

namespace blockyard::engine {

template <class Payload>
class EventQueue {
 public:
  struct Event {
    SimTime time;
    std::uint32_t rank = 0;
    std::uint64_t sequence = 0;
    Payload payload;
  };

  void push(SimTime time, std::uint32_t rank, Payload payload) {
    CHECK_LAW(time >= now_, "event at {} ns, clock at {} ns", time.count(), now_.count());
    heap_.push(Event{time, rank, pushed_++, std::move(payload)});
  }

  // Takes the next event and sets the clock to its time.
  Event pop() {
    CHECK_LAW(!heap_.empty(), "pop of an empty event queue at {} ns", now_.count());
    Event event = heap_.top();
    heap_.pop();
    now_ = event.time;
    return event;
  }

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  // The time of the next event, kNever if there is none.
  [[nodiscard]] SimTime next_time() const { return heap_.empty() ? kNever : heap_.top().time; }
  [[nodiscard]] SimTime now() const { return now_; }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      if (a.time != b.time) return a.time > b.time;
      if (a.rank != b.rank) return a.rank > b.rank;
      return a.sequence > b.sequence;
    }
  };

  boost::heap::d_ary_heap<Event, boost::heap::arity<4>, boost::heap::compare<Later>> heap_;
  std::uint64_t pushed_ = 0;
  SimTime now_;
};

}  // namespace blockyard::engine
