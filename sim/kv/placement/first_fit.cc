#include "sim/kv/placement/first_fit.h"

#include <algorithm>
#include <iterator>

#include "sim/base/check.h"

namespace blockyard::kv {

FirstFit::FirstFit(Tokens capacity) : capacity_(capacity), free_(capacity) {
  if (capacity > Tokens(0)) holes_.emplace(0, capacity.count());
}

std::optional<Region> FirstFit::place(Tokens slots) {
  const auto hole =
      std::find_if(holes_.begin(), holes_.end(), [&](const auto& h) { return h.second >= slots.count(); });
  if (hole == holes_.end()) return std::nullopt;
  const auto [start, size] = *hole;
  const auto next = holes_.erase(hole);
  if (size > slots.count()) holes_.emplace_hint(next, start + slots.count(), size - slots.count());
  free_ -= slots;
  return Region{start, slots};
}

void FirstFit::remove(Region region) {
  std::int64_t start = region.start;
  std::int64_t end = region.start + region.size.count();
  auto next = holes_.lower_bound(start);
  CHECK_LAW(next == holes_.end() || next->first >= end, "region {}..{} overlaps the hole at {}", start, end,
            next->first);
  if (next != holes_.begin()) {
    const auto before = std::prev(next);
    const std::int64_t before_end = before->first + before->second;
    CHECK_LAW(before_end <= start, "region {}..{} overlaps the hole up to {}", start, end, before_end);
    if (before_end == start) {
      start = before->first;
      holes_.erase(before);
    }
  }
  if (next != holes_.end() && next->first == end) {
    end += next->second;
    next = holes_.erase(next);
  }
  holes_.emplace_hint(next, start, end - start);
  free_ += region.size;
}

Tokens FirstFit::largest_free() const {
  std::int64_t largest = 0;
  for (const auto& [start, size] : holes_) largest = std::max(largest, size);
  return Tokens(largest);
}

}  // namespace blockyard::kv
