// First fit: the lowest free region that is large enough.
#pragma once

#include "sim/kv/placement/fit.h"

namespace blockyard::kv {

class FirstFit final : public Fit {
 public:
  explicit FirstFit(Tokens capacity) : Fit(capacity, false) {}

 private:
  [[nodiscard]] std::optional<Region> choose(Tokens slots) const override { return free_regions().first_of(0, slots); }
};

}  // namespace blockyard::kv
