// What first, next, best and worst fit share: a region is cut from the low end of the free region that the policy
// chooses, exactly as long as asked; neighbours merge when one is removed. Compaction slides all regions down, in
// order, which leaves one free region. Source: Knuth, TAOCP vol. 1, sec. 2.5.
#pragma once

#include "sim/kv/placement/free_regions.h"
#include "sim/kv/placement/placement.h"

namespace blockyard::kv {

class Fit : public Placement {
 public:
  std::optional<Region> place(Tokens slots) final;
  void remove(Region region) final { free_.add(region); }
  void restore(Region region) final { free_.take(region); }
  bool compact(std::span<Region> regions, Tokens wanted) final;
  [[nodiscard]] Tokens rounded(Tokens slots) const final { return slots; }
  [[nodiscard]] Tokens free() const final { return free_.free(); }
  [[nodiscard]] Tokens largest_free() const final { return free_.largest(); }
  [[nodiscard]] Tokens largest_ever() const final { return capacity_; }

 protected:
  Fit(Tokens capacity, bool by_size) : capacity_(capacity), free_(capacity, by_size) {}

  // A free region of at least `slots`, if there is one.
  [[nodiscard]] virtual std::optional<Region> choose(Tokens slots) const = 0;
  virtual void placed(Region /*region*/) {}
  [[nodiscard]] const FreeRegions& free_regions() const { return free_; }

 private:
  Tokens capacity_;
  FreeRegions free_;
};

}  // namespace blockyard::kv
