// What it would take to bring a victim back, as a scheduler may ask: it knows no cost model and no link. Serving
// answers (sim/serving/restore_cost.h). Cost of an answer: O(1 + chunks of the recomputation).
#pragma once

#include <cstdint>

#include "sim/base/quantities.h"

namespace blockyard::sched {

// Those that would decode beside it.
struct DecodeLoad {
  std::int64_t sequences = 0;
  std::int64_t context = 0;  // sum of their context lengths, the new token included
};

class RestoreCost {
 public:
  RestoreCost() = default;
  RestoreCost(const RestoreCost&) = delete;
  RestoreCost& operator=(const RestoreCost&) = delete;
  virtual ~RestoreCost() = default;

  // How much longer the steps take that compute the first `tokens` of it beside `load`.
  [[nodiscard]] virtual SimTime recompute(Tokens tokens, const DecodeLoad& load) = 0;
};

}  // namespace blockyard::sched
