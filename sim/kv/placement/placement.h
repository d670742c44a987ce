// Where a region of contiguous slots goes in the arena: the contract of every placement.
// Laws: regions never overlap; free() + the sum of region sizes == capacity; the same calls give the same places.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/base/quantities.h"

namespace blockyard::kv {

struct Region {
  std::int64_t start = 0;  // first slot
  Tokens size;             // slots, at least what was asked (the rest is padding)
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

  // The size of the region that a request of `slots` would get.
  [[nodiscard]] virtual Tokens rounded(Tokens slots) const = 0;
  [[nodiscard]] virtual Tokens free() const = 0;
  [[nodiscard]] virtual Tokens largest_free() const = 0;
  // The largest region that an empty arena can give.
  [[nodiscard]] virtual Tokens largest_ever() const = 0;
};

}  // namespace blockyard::kv
