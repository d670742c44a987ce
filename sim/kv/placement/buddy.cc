#include "sim/kv/placement/buddy.h"

#include <bit>

#include "sim/base/check.h"

namespace blockyard::kv {
namespace {

std::size_t order_for(Tokens slots) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(slots.count()) - 1));
}

std::int64_t size_of(std::size_t order) { return std::int64_t{1} << order; }

}  // namespace

Buddy::Buddy(Tokens capacity) : capacity_(capacity), free_(capacity) {
  std::int64_t start = 0;
  for (std::size_t order = kOrders; order-- > 0;) {
    if ((capacity.count() & size_of(order)) == 0) continue;
    holes_[order].insert(start);
    start += size_of(order);
    if (largest_ever_ == Tokens(0)) largest_ever_ = Tokens(size_of(order));
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

Tokens Buddy::rounded(Tokens slots) const { return Tokens(size_of(order_for(slots))); }

Tokens Buddy::largest_free() const {
  for (std::size_t order = kOrders; order-- > 0;) {
    if (!holes_[order].empty()) return Tokens(size_of(order));
  }
  return Tokens(0);
}

}  // namespace blockyard::kv
