// By (priority ascending, arrival time, arrival order), as vLLM's `priority` policy.
#pragma once

#include "sim/sched/queue_order/keyed.h"

namespace blockyard::sched {

class Priority final : public Keyed {
 private:
  [[nodiscard]] std::int64_t key(const Waiting& waiting) const override { return waiting.request.priority; }
};

}  // namespace blockyard::sched
