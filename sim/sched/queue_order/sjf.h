// Shortest job first: by the predicted output (predicted_length.h). Long requests starve while shorter ones keep
// coming.
#pragma once

#include "sim/sched/queue_order/keyed.h"
#include "sim/sched/queue_order/predicted_length.h"

namespace blockyard::sched {

class Sjf final : public Keyed {
 public:
  explicit Sjf(const QueueOptions& options) : options_(options) {}

 private:
  [[nodiscard]] std::int64_t key(const Waiting& waiting) const override {
    return predicted_output(waiting.request, waiting.id, options_).count();
  }
  QueueOptions options_;
};

}  // namespace blockyard::sched
