// Where a region of contiguous slots goes in the arena: the contract of every placement.
// Laws: regions never overlap; free() + the sum of region sizes == capacity; the same calls give the same places.
// Cost: O(log n) a call in the number n of regions; compact O(n log n).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sim/base/quantities.h"

namespace blockyard::kv {

struct Region {
  std::int64_t start = 0;  // first slot
  Tokens size;             // slots, at least what was asked (the rest is padding)

  [[nodiscard]] std::int64_t end() const { return start + size.count(); }
  bool operator==(const Region&) const = default;
};

class Placement {
 public:
  Placement() = default;
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;
  virtual ~Placement() = default;

  // A region of at least `slots` (> 0), or none; then nothing has changed.
  virtual std::optional<Region> place(Tokens slots) = 0;
  virtual void remove(Region region) = 0;

  // To undo: takes just this region, which was placed once and is free again.
  virtual void restore(Region region) = 0;
  // Where the next search begins, of placements that remember it.
  [[nodiscard]] virtual std::int64_t cursor() const { return 0; }
  virtual void set_cursor(std::int64_t /*address*/) {}

  // Moves `regions`, which are all there are, by address, closer together, so that place(wanted) will succeed and the
  // largest free region grows. False if no such thing is possible; then nothing has changed. wanted = 0: only the
  // latter.
  virtual bool compact(std::span<Region> regions, Tokens wanted) = 0;

  // The size of the region that a request of `slots` would get.
  [[nodiscard]] virtual Tokens rounded(Tokens slots) const = 0;
  [[nodiscard]] virtual Tokens free() const = 0;
  [[nodiscard]] virtual Tokens largest_free() const = 0;
  // The largest region that an empty arena can give.
  [[nodiscard]] virtual Tokens largest_ever() const = 0;
};

}  // namespace blockyard::kv
