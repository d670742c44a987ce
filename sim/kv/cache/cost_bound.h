// The most recomputation that any policy could save, where blocks differ in what they cost to compute again: an upper
// bound, from one pass for all capacities. Each reuse of a block that a policy serves keeps it over the requests since
// it was last asked for; all of them together have capacity x requests of room. Taking the reuses that are worth most
// for the room they need, down to a part of the last one, is at least as good as any policy, which also must find room
// at every single moment. The offline problem itself is a flow (blocks are of one size); this relaxation is PFOO-U of
// Berger, Beckmann & Harchol-Balter, SIGMETRICS 2018. Law (tests/kv/cost_bound_test.cc): no policy saves more. Cost:
// O(n log n) once, O(log n) a capacity.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/kv/cache/reference_string.h"

namespace blockyard::kv {

class CostBound {
 public:
  // `cost` by depth, as in CacheRunOptions.
  CostBound(const ReferenceString& references, std::span<const double> cost);

  [[nodiscard]] double saved(std::int64_t capacity) const;
  // Of all blocks asked for: what a cache that finds everything would save.
  [[nodiscard]] double all() const { return all_; }

 private:
  std::int64_t requests_ = 0;  // with one more for all that the cache starts with
  double all_ = 0;
  // Reuses, the best worth for their room first: sums up to each.
  std::vector<double> room_{0};
  std::vector<double> worth_{0};
};

}  // namespace blockyard::kv
