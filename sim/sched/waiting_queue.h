// Who is next to be admitted: the contract of every queue order. Preempted requests wait here too, with their sequence.
// Cost: fcfs O(1) a call, the others O(log n), but for remove and look_again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/named.h"
#include "sim/base/quantities.h"
#include "sim/workload/request.h"

namespace blockyard::sched {

struct Waiting {
  workload::Request request;
  RequestId id{};
  SequenceId sequence = SequenceId::none;  // none = it has never been at the head, nor been looked up
  bool refusal_counted = false;            // it has been counted as refused although memory was free
  Tokens generated;                        // before it was preempted
  Tokens cached = {};                      // longest_prefix: its cached prefix when it was looked up last
};

// What the scheduler knows of the KV that waiting requests would find.
class CachedPrefixes {
 public:
  CachedPrefixes() = default;
  CachedPrefixes(const CachedPrefixes&) = delete;
  CachedPrefixes& operator=(const CachedPrefixes&) = delete;

  // Tokens that are on the GPU already. Opens its sequence.
  virtual Tokens cached_prefix(Waiting& waiting) = 0;
  // Rises when an answer may have changed.
  [[nodiscard]] virtual std::uint64_t changes() const = 0;

 protected:
  ~CachedPrefixes() = default;
};

// What orders other than fcfs and priority know beside the request.
struct QueueOptions {
  double prediction_cv = 0;  // error of predicted output lengths (queue_order/predicted_length.h)
  std::uint64_t seed = 0;
  SimTime deadline;                           // of a first token, from the arrival on
  std::vector<SimTime> deadlines_by_class{};  // likewise, of requests of a class, which is counted from 1
  SimTime deadline_per_priority;              // added to it for each step of priority
  CachedPrefixes* prefixes = nullptr;         // nullptr: nobody has one
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
  // Before a step's admissions, its running requests having been served: orders that change while requests wait do so
  // here. True if another one is at the front.
  virtual bool look_again() { return false; }
  // A request that was admitted from here has ended, or its client has left.
  virtual void ended(const workload::Request& /*request*/, RequestId /*id*/, Tokens /*generated*/) {}
};

[[nodiscard]] NameDocs queue_orders();
// May an arrival be put before all who wait?
[[nodiscard]] bool arrivals_overtake(std::string_view order);
[[nodiscard]] std::unique_ptr<WaitingQueue> make_waiting_queue(std::string_view order, const QueueOptions& options);

}  // namespace blockyard::sched
