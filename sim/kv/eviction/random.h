// random: any block that nobody holds, each as likely: the control of an experiment. The same seed takes the same
// blocks. O(1).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/random.h"
#include "sim/kv/eviction/policy.h"

namespace blockyard::kv {

class Random final : public PolicyDefaults {
 public:
  explicit Random(const PolicyOptions& options)
      : random_(options.seed, "eviction"), place_(static_cast<std::size_t>(options.slots), 0) {
    idle_.reserve(static_cast<std::size_t>(options.slots));
  }

  void insert(BlockId /*slot*/, const Reference& /*r*/) {}
  void hit(BlockId /*slot*/, const Reference& /*r*/) {}
  void hold(BlockId slot) { take_out(place_[slot]); }
  void let_go(BlockId slot) {
    place_[slot] = static_cast<std::uint32_t>(idle_.size());
    idle_.push_back(slot);
  }
  BlockId evict() {
    if (idle_.empty()) return kNoBlock;
    const auto at = static_cast<std::size_t>(random_.integer(0, static_cast<std::int64_t>(idle_.size()) - 1));
    const BlockId slot = idle_[at];
    take_out(at);
    return slot;
  }

 private:
  void take_out(std::size_t at) {
    idle_[at] = idle_.back();
    place_[idle_[at]] = static_cast<std::uint32_t>(at);
    idle_.pop_back();
  }

  RandomStream random_;
  std::vector<BlockId> idle_;
  std::vector<std::uint32_t> place_;  // by slot, of those in idle_
};

}  // namespace blockyard::kv
