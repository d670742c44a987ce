#include "sim/kv/placement/buddy.h"

#include <algorithm>
#include <bit>

#include "sim/base/check.h"

namespace blockyard::kv {
namespace {

std::size_t order_for(Tokens slots) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(slots.count()) - 1));
}

std::int64_t size_of(std::size_t order) { return std::int64_t{1} << order; }

}  // namespace

Buddy::Buddy(Tokens capacity) : capacity_(capacity) {
  holes_.reserve(kOrders);
  for (std::size_t order = 0; order < kOrders; ++order) holes_.emplace_back(&pool_);
  empty_arena();
  largest_ever_ = largest_free();
}

void Buddy::empty_arena() {
  for (Holes& holes : holes_) holes.clear();
  free_ = capacity_;
  std::int64_t start = 0;
  for (std::size_t order = kOrders; order-- > 0;) {
    if ((capacity_.count() & size_of(order)) == 0) continue;
    holes_[order].insert(start);
    start += size_of(order);
  }
}

std::optional<Region> Buddy::place(Tokens slots) {
  const std::size_t order = order_for(slots);
  std::size_t from = order;
  while (from < kOrders && holes_[from].empty()) ++from;
  if (from >= kOrders) return std::nullopt;
  const std::int64_t start = *holes_[from].begin();
  holes_[from].erase(holes_[from].begin());
  while (from > order) {
    --from;
    holes_[from].insert(start + size_of(from));
  }
  free_ -= Tokens(size_of(order));
  return Region{start, Tokens(size_of(order))};
}

// The arena's row of powers of two: a buddy exists only if both halves lie in the same tree, which ends at the arena's
// end.
bool Buddy::within_one_tree(std::int64_t start, std::int64_t size) const {
  std::int64_t tree_start = 0;
  for (std::size_t order = kOrders; order-- > 0;) {
    if ((capacity_.count() & size_of(order)) == 0) continue;
    const std::int64_t tree_end = tree_start + size_of(order);
    if (start < tree_end) return start + size <= tree_end;
    tree_start = tree_end;
  }
  return false;
}

void Buddy::remove(Region region) {
  std::size_t order = order_for(region.size);
  CHECK_LAW(size_of(order) == region.size.count(), "a buddy region of {} slots", region.size.count());
  free_ += region.size;
  std::int64_t start = region.start;
  for (;; ++order) {
    const std::int64_t buddy = start ^ size_of(order);
    const std::int64_t parent = start < buddy ? start : buddy;
    if (!within_one_tree(parent, size_of(order + 1))) break;
    const auto found = holes_[order].find(buddy);
    if (found == holes_[order].end()) break;
    holes_[order].erase(found);
    start = parent;
  }
  CHECK_LAW(holes_[order].insert(start).second, "the region at {} is removed twice", start);
}

// The free region around it is halved until only its own size is left.
void Buddy::restore(Region region) {
  const std::size_t order = order_for(region.size);
  std::size_t from = order;
  const auto start_of = [&](std::size_t o) { return region.start & ~(size_of(o) - 1); };
  while (from < kOrders && holes_[from].erase(start_of(from)) == 0) ++from;
  CHECK_LAW(from < kOrders, "region {}..{} is not free", region.start, region.end());
  for (; from > order; --from) holes_[from - 1].insert(start_of(from - 1) ^ size_of(from - 1));
  free_ -= region.size;
}

bool Buddy::compact(std::span<Region> regions, Tokens wanted) {
  if (free_ < wanted) return false;
  const Tokens largest_before = largest_free();
  std::vector<std::size_t> by_size(regions.size());
  for (std::size_t i = 0; i < by_size.size(); ++i) by_size[i] = i;
  std::ranges::sort(by_size, [&](std::size_t a, std::size_t b) {
    return regions[a].size != regions[b].size ? regions[a].size > regions[b].size : a < b;
  });
  std::vector<Region> moved(regions.size());
  empty_arena();
  for (const std::size_t i : by_size) moved[i] = *place(regions[i].size);
  const Tokens enough = wanted > Tokens(0) ? rounded(wanted) : Tokens(0);
  if (largest_free() > largest_before && largest_free() >= enough) {
    std::ranges::copy(moved, regions.begin());
    return true;
  }
  for (const Region& region : moved) remove(region);
  for (const Region& region : regions) restore(region);
  return false;
}

Tokens Buddy::rounded(Tokens slots) const { return Tokens(size_of(order_for(slots))); }

Tokens Buddy::largest_free() const {
  for (std::size_t order = kOrders; order-- > 0;) {
    if (!holes_[order].empty()) return Tokens(size_of(order));
  }
  return Tokens(0);
}

}  // namespace blockyard::kv
