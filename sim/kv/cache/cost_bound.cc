#include "sim/kv/cache/cost_bound.h"

#include <algorithm>

namespace blockyard::kv {

CostBound::CostBound(const ReferenceString& references, std::span<const double> cost)
    : requests_(references.asking() + (references.before() > 0 ? 1 : 0)) {
  struct Reuse {
    double room;
    double worth;
  };
  constexpr std::int64_t kNever = -1;
  const auto cost_at = [&](std::size_t depth) { return cost.empty() ? 1 : cost[std::min(depth, cost.size() - 1)]; };
  std::vector<Reuse> reuses;
  std::vector<std::int64_t> last(references.contents(), kNever);
  // What the cache starts with came all at one moment.
  const auto start = static_cast<std::int64_t>(references.before()) - 1;
  for (std::int64_t r = 0; r < std::ssize(references.requests()); ++r) {
    const auto& request = references.requests()[static_cast<std::size_t>(r)];
    const auto ids = references.ids(request);
    for (std::uint32_t i = 0; i < request.ids; ++i) all_ += cost_at(i);
    for (std::uint32_t i = 0; i < request.looked_up && last[ids[i]] != kNever; ++i) {
      reuses.push_back({static_cast<double>(r - last[ids[i]]), cost_at(i)});
    }
    for (std::uint32_t i = 0; i < request.kept; ++i) last[ids[i]] = std::max(r, start);
  }
  std::ranges::sort(reuses, [](const Reuse& a, const Reuse& b) { return a.worth * b.room > b.worth * a.room; });
  for (const Reuse& reuse : reuses) {
    room_.push_back(room_.back() + reuse.room);
    worth_.push_back(worth_.back() + reuse.worth);
  }
}

double CostBound::saved(std::int64_t capacity) const {
  const double room = static_cast<double>(capacity) * static_cast<double>(requests_);
  const auto beyond = static_cast<std::size_t>(std::ranges::upper_bound(room_, room) - room_.begin());
  if (beyond == room_.size()) return worth_.back();
  const double part = (room - room_[beyond - 1]) / (room_[beyond] - room_[beyond - 1]);
  return worth_[beyond - 1] + part * (worth_[beyond] - worth_[beyond - 1]);
}

}  // namespace blockyard::kv
