// slru: a probation segment for blocks asked for once and a protected one, at most floor(0.8 x capacity) blocks, for
// those asked for again; each in order of last use. What the protected segment pushes out becomes the youngest on
// probation; the oldest on probation is evicted (of the protected ones if there is none). Source: Karedla, Love &
// Wherry, IEEE Computer 1994.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_lists.h"

namespace blockyard::kv {

class Slru final : public PolicyDefaults {
 public:
  explicit Slru(const PolicyOptions& options)
      : limit_(options.capacity * 4 / 5),
        order_(options.slots, 2),
        segments_(static_cast<std::size_t>(options.slots), kProbation) {}

  void insert(BlockId slot, const Reference& /*r*/) { segments_[slot] = kProbation; }
  void hit(BlockId slot, const Reference& /*r*/) {
    if (segments_[slot] == kProtected) return;
    segments_[slot] = kProtected;
    ++protected_;
  }
  void hold(BlockId slot) { order_.remove(slot); }
  void let_go(BlockId slot) {
    order_.push_youngest(segments_[slot], slot);
    while (protected_ > limit_ && !order_.empty(kProtected)) {
      const BlockId oldest = order_.oldest(kProtected);
      order_.remove(oldest);
      segments_[oldest] = kProbation;
      --protected_;
      order_.push_youngest(kProbation, oldest);
    }
  }
  BlockId evict() {
    const std::uint8_t segment = order_.empty(kProbation) ? kProtected : kProbation;
    if (order_.empty(segment)) return kNoBlock;
    const BlockId slot = order_.oldest(segment);
    order_.remove(slot);
    if (segment == kProtected) --protected_;
    return slot;
  }

 private:
  static constexpr std::uint8_t kProbation = 0;
  static constexpr std::uint8_t kProtected = 1;
  std::int64_t limit_;
  SlotLists order_;
  std::vector<std::uint8_t> segments_;
  std::int64_t protected_ = 0;  // held ones included
};

}  // namespace blockyard::kv
