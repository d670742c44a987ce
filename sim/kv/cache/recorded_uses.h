// Which contents were asked for, admission by admission, recorded in one run to be the future of another: what `opt` is
// told in a timed run. The other run's admissions need not come in the same order, so that it is the optimum of the
// recorded sequence, not of its own. O(1) a block recorded, O(log uses) a question; 4 bytes a use and about 40 a
// content.
#pragma once

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/kv/eviction/policy.h"

namespace blockyard::kv {

class RecordedUses {
 public:
  // The blocks that the next admission looks up.
  void record(std::span<const std::uint64_t> keys) {
    for (const std::uint64_t key : keys) uses_[key].push_back(static_cast<std::uint32_t>(admissions_));
    ++admissions_;
  }
  [[nodiscard]] std::int64_t admissions() const { return admissions_; }
  // The first admission after number `now` that asked for it, counted from 0; kNeverUsed if none did.
  [[nodiscard]] std::int64_t next_use(std::uint64_t key, std::int64_t now) const {
    const auto found = uses_.find(key);
    if (found == uses_.end()) return kNeverUsed;
    const auto next = std::ranges::upper_bound(found->second, now);
    return next == found->second.end() ? kNeverUsed : std::int64_t{*next};
  }

 private:
  boost::unordered_flat_map<std::uint64_t, std::vector<std::uint32_t>> uses_;
  std::int64_t admissions_ = 0;
};

}  // namespace blockyard::kv
