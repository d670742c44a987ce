// Worst fit: the largest free region, of equal ones the lowest, so that what is left of it stays useful.
#pragma once

#include "sim/kv/placement/fit.h"

namespace blockyard::kv {

class WorstFit final : public Fit {
 public:
  explicit WorstFit(Tokens capacity) : Fit(capacity, false) {}

 private:
  [[nodiscard]] std::optional<Region> choose(Tokens slots) const override {
    if (free_regions().largest() < slots) return std::nullopt;
    return free_regions().first_of(0, free_regions().largest());
  }
};

}  // namespace blockyard::kv
