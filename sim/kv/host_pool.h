// Host memory for the KV of swapped-out sequences, in blocks that are counted, not named. Law: used + free == capacity.
// All calls O(1).
#pragma once

#include "sim/base/check.h"
#include "sim/base/quantities.h"

namespace blockyard::kv {

class HostPool {
 public:
  explicit HostPool(Blocks capacity) : capacity_(capacity) {}

  [[nodiscard]] Blocks capacity() const { return capacity_; }
  [[nodiscard]] Blocks used() const { return used_; }
  [[nodiscard]] Blocks free() const { return capacity_ - used_; }

  void take(Blocks n) {
    CHECK_LAW(n >= Blocks(0) && n <= free(), "{} host blocks are taken, {} are free", n.count(), free().count());
    used_ += n;
  }
  void give_back(Blocks n) {
    CHECK_LAW(n >= Blocks(0) && n <= used_, "{} host blocks are given back, {} are used", n.count(), used_.count());
    used_ -= n;
  }

 private:
  Blocks capacity_;
  Blocks used_;
};

}  // namespace blockyard::kv
