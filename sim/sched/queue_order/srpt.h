// Shortest remaining processing time: by the predicted output still to come (predicted_length.h), 0 for those that have
// outlived their prediction. It differs from sjf for preempted requests, which have some of it behind them. An order of
// admission: nobody who runs has to go for a shorter one. Long requests starve while shorter ones keep coming.
#pragma once

#include <algorithm>

#include "sim/sched/queue_order/keyed.h"
#include "sim/sched/queue_order/predicted_length.h"

namespace blockyard::sched {

class Srpt final : public Keyed {
 public:
  explicit Srpt(const QueueOptions& options) : options_(options) {}

 private:
  [[nodiscard]] std::int64_t key(const Waiting& waiting) const override {
    const Tokens left = predicted_output(waiting.request, waiting.id, options_) - waiting.generated;
    return std::max(Tokens(0), left).count();
  }
  QueueOptions options_;
};

}  // namespace blockyard::sched
