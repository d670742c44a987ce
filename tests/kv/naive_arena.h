// The arena as a plain row of slots: slow and obviously right. What the placements have to do, in the words of their
// names.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/kv/placement/placement.h"

namespace blockyard::kv_tests {

class NaiveArena {
 public:
  NaiveArena(Tokens capacity, std::string placement)
      : placement_(std::move(placement)), taken_(static_cast<std::size_t>(capacity.count())) {}

  // None if somebody holds a part of it.
  bool take(kv::Region region) {
    for (std::int64_t i = region.start; i < region.end(); ++i) {
      if (taken_.at(static_cast<std::size_t>(i))) return false;
    }
    mark(region, true);
    return true;
  }
  void give(kv::Region region) { mark(region, false); }
  void clear() { taken_.assign(taken_.size(), false); }

  [[nodiscard]] std::int64_t rounded(std::int64_t slots) const {
    return placement_ == "buddy" ? static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(slots))) : slots;
  }
  [[nodiscard]] std::int64_t free() const { return std::count(taken_.begin(), taken_.end(), false); }
  [[nodiscard]] std::int64_t largest_free() const {
    std::int64_t largest = 0;
    for (const kv::Region& hole : holes()) largest = std::max(largest, hole.size.count());
    return largest;
  }

  std::optional<kv::Region> place(std::int64_t asked) {
    const std::int64_t slots = rounded(asked);
    std::vector<kv::Region> fits;
    for (const kv::Region& hole : holes()) {
      if (hole.size.count() >= slots) fits.push_back(hole);
    }
    if (fits.empty()) return std::nullopt;
    const auto smaller = [](const kv::Region& a, const kv::Region& b) { return a.size < b.size; };
    auto chosen = fits.begin();  // first_fit
    if (placement_ == "best_fit" || placement_ == "buddy") chosen = std::min_element(fits.begin(), fits.end(), smaller);
    if (placement_ == "worst_fit") chosen = std::max_element(fits.begin(), fits.end(), smaller);
    if (placement_ == "next_fit") {
      const auto above =
          std::find_if(fits.begin(), fits.end(), [&](const auto& hole) { return hole.start >= cursor_; });
      if (above != fits.end()) chosen = above;
    }
    const kv::Region region{chosen->start, Tokens(slots)};
    mark(region, true);
    cursor_ = region.end();
    return region;
  }

  // Moves all of `held` (by address) together: down in order, or, of buddies, the largest first into an empty arena.
  void pack(std::vector<kv::Region>& held) {
    clear();
    cursor_ = 0;
    if (placement_ != "buddy") {
      for (kv::Region& region : held) {
        region.start = cursor_;
        cursor_ = region.end();
        mark(region, true);
      }
      return;
    }
    std::vector<kv::Region*> order;
    for (kv::Region& region : held) order.push_back(&region);
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->size > b->size; });
    for (kv::Region* region : order) *region = *place(region->size.count());
  }

 private:
  void mark(kv::Region region, bool taken) {
    for (std::int64_t i = region.start; i < region.end(); ++i) taken_.at(static_cast<std::size_t>(i)) = taken;
  }
  [[nodiscard]] bool is_free(std::int64_t from, std::int64_t to) const {
    return std::none_of(taken_.begin() + from, taken_.begin() + to, [](bool taken) { return taken; });
  }

  [[nodiscard]] std::vector<kv::Region> holes() const {
    std::vector<kv::Region> holes;
    if (placement_ == "buddy") {
      const auto capacity = static_cast<std::int64_t>(taken_.size());
      std::int64_t tree = 0;
      for (std::int64_t size = std::int64_t{1} << 40; size > 0; size /= 2) {
        if ((capacity & size) == 0) continue;
        add_buddies(holes, tree, size);
        tree += size;
      }
      return holes;
    }
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(taken_.size()); ++i) {
      if (taken_[static_cast<std::size_t>(i)]) continue;
      if (holes.empty() || holes.back().end() != i) holes.push_back({i, Tokens(0)});
      ++holes.back().size;
    }
    return holes;
  }
  // The largest halves of halves that are free as a whole, by address.
  void add_buddies(std::vector<kv::Region>& holes, std::int64_t start, std::int64_t size) const {
    if (is_free(start, start + size)) {
      holes.push_back({start, Tokens(size)});
    } else if (size > 1) {
      add_buddies(holes, start, size / 2);
      add_buddies(holes, start + size / 2, size / 2);
    }
  }

  std::string placement_;
  std::vector<bool> taken_;
  std::int64_t cursor_ = 0;  // where the region placed last ends
};

}  // namespace blockyard::kv_tests
