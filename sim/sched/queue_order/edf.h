// Earliest deadline first: deadline = arrival + slo.ttft (of the request's class, where it has one) + priority x
// engine.deadline_per_priority, so that each class of requests may have a patience of its own. With one class it is the
// order of arrival, but for preempted requests, which go back to their own place. Nobody starves: a deadline that is
// old enough comes before every new one.
#pragma once

#include "sim/sched/queue_order/keyed.h"

namespace blockyard::sched {

class Edf final : public Keyed {
 public:
  explicit Edf(const QueueOptions& options) : options_(options) {}

 private:
  [[nodiscard]] std::int64_t key(const Waiting& waiting) const override {
    const workload::Request& request = waiting.request;
    const SimTime patience =
        request.slo_class == 0 ? options_.deadline : options_.deadlines_by_class[request.slo_class - 1U];
    return (request.arrival + patience + options_.deadline_per_priority * request.priority).count();
  }
  QueueOptions options_;
};

}  // namespace blockyard::sched
