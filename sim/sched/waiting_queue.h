// Who is next to be admitted: the contract of every queue order. Preempted requests wait here too, with their sequence.
// Cost: fcfs O(1) a call, priority O(log n), but for remove.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "sim/base/ids.h"
#include "sim/base/named.h"
#include "sim/workload/request.h"

namespace blockyard::sched {

struct Waiting {
  workload::Request request;
  RequestId id{};
  SequenceId sequence = SequenceId::none;  // none = it has never been at the head
  bool refusal_counted = false;            // it has been counted as refused although memory was free
};

class WaitingQueue {
 public:
  WaitingQueue() = default;
  WaitingQueue(const WaitingQueue&) = delete;
  WaitingQueue& operator=(const WaitingQueue&) = delete;
  virtual ~WaitingQueue() = default;

  virtual void push(const Waiting& waiting) = 0;            // an arrival
  virtual void push_preempted(const Waiting& waiting) = 0;  // a request that lost its memory
  [[nodiscard]] virtual Waiting& front() = 0;               // not empty; its key must not be changed
  virtual void pop_front() = 0;
  // Takes one out from wherever it is; none if it is not here. O(requests before it) or O(n).
  virtual std::optional<Waiting> remove(RequestId id) = 0;
  [[nodiscard]] virtual std::int64_t size() const = 0;
};

[[nodiscard]] NameDocs queue_orders();
// May an arrival be put before all who wait?
[[nodiscard]] bool arrivals_overtake(std::string_view order);
[[nodiscard]] std::unique_ptr<WaitingQueue> make_waiting_queue(std::string_view order);

}  // namespace blockyard::sched
