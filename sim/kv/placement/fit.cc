#include "sim/kv/placement/fit.h"

namespace blockyard::kv {

std::optional<Region> Fit::place(Tokens slots) {
  const std::optional<Region> chosen = choose(slots);
  if (!chosen) return std::nullopt;
  const Region region{chosen->start, slots};
  free_.take(region);
  placed(region);
  return region;
}

bool Fit::compact(std::span<Region> regions, Tokens wanted) {
  if (free() < wanted || largest_free() == free()) return false;
  std::int64_t end = 0;
  for (Region& region : regions) {
    region.start = end;
    end = region.end();
  }
  free_.reset(end);
  set_cursor(end);
  return true;
}

}  // namespace blockyard::kv
