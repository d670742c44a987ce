// Next fit: the first free region, large enough, that begins at or above the end of the region placed last; from the
// bottom again if there is none.
#pragma once

#include "sim/kv/placement/fit.h"

namespace blockyard::kv {

class NextFit final : public Fit {
 public:
  explicit NextFit(Tokens capacity) : Fit(capacity, false) {}

  [[nodiscard]] std::int64_t cursor() const override { return cursor_; }
  void set_cursor(std::int64_t address) override { cursor_ = address; }

 private:
  [[nodiscard]] std::optional<Region> choose(Tokens slots) const override {
    const std::optional<Region> above = free_regions().first_of(cursor_, slots);
    return above ? above : free_regions().first_of(0, slots);
  }
  void placed(Region region) override { cursor_ = region.end(); }

  std::int64_t cursor_ = 0;
};

}  // namespace blockyard::kv
