// Best fit: the smallest free region that is large enough, of equal ones the lowest.
#pragma once

#include "sim/kv/placement/fit.h"

namespace blockyard::kv {

class BestFit final : public Fit {
 public:
  explicit BestFit(Tokens capacity) : Fit(capacity, true) {}

 private:
  [[nodiscard]] std::optional<Region> choose(Tokens slots) const override { return free_regions().smallest_of(slots); }
};

}  // namespace blockyard::kv
