// First fit: the lowest address whose free region is large enough; neighbours merge when a region is removed.
// Cost: O(free regions) to place, O(log) to remove. Source: Knuth, TAOCP vol. 1, sec. 2.5.
#pragma once

#include <map>

#include "sim/kv/placement/placement.h"

namespace blockyard::kv {

class FirstFit final : public Placement {
 public:
  explicit FirstFit(Tokens capacity);

  std::optional<Region> place(Tokens slots) override;
  void remove(Region region) override;
  [[nodiscard]] Tokens rounded(Tokens slots) const override { return slots; }
  [[nodiscard]] Tokens free() const override { return free_; }
  [[nodiscard]] Tokens largest_free() const override;
  [[nodiscard]] Tokens largest_ever() const override { return capacity_; }

 private:
  Tokens capacity_;
  Tokens free_;
  std::map<std::int64_t, std::int64_t> holes_;  // start -> slots; never two that touch
};

}  // namespace blockyard::kv
