// workload_aware: the block that is least likely to be asked for again while it would stay cached, judged by its
// category of requests. Per category c it learns, as it runs, the share p of uses that are followed by another one and
// the mean time tau between them, and takes that time for exponential. With a = time since the block's last use and L =
// the mean time that evicted blocks had lain unused:
//   P(used within L | not used for a) = p e^(-a/tau) (1 - e^(-L/tau)) / (1 - p + p e^(-a/tau))
// Within a category that falls with a, so that only the oldest of each has to be compared: O(categories) an eviction,
// at most 64 (higher ones share the last). A request's deepest blocks count as older. Each category starts from one
// imagined use, reused with the chance and after the time of all categories together. Source: Wang et al., "KVCache
// cache in the wild", USENIX ATC 2025, section 4.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sim/kv/eviction/ghost_queue.h"
#include "sim/kv/eviction/policy.h"
#include "sim/kv/eviction/slot_lists.h"

namespace blockyard::kv {

class WorkloadAware final : public PolicyDefaults {
 public:
  explicit WorkloadAware(const PolicyOptions& options)
      : order_(options.slots, kCategories), states_(static_cast<std::size_t>(options.slots)), gone_(options.capacity) {}

  void missed(const Reference& r) {
    const auto used = gone_.remove(r.key);
    if (used) learn(r.category, r.now - SimTime(*used));
  }

  void insert(BlockId slot, const Reference& r) { use(slot, r); }
  void hit(BlockId slot, const Reference& r) {
    learn(states_[slot].category, r.now - states_[slot].used);
    use(slot, r);
  }
  void hold(BlockId slot) { order_.remove(slot); }
  void let_go(BlockId slot) { order_.push_youngest(states_[slot].category, slot); }
  BlockId evict() {
    BlockId victim = kNoBlock;
    double least = 0;
    for (std::uint32_t c = 0; c < categories_; ++c) {
      if (order_.empty(c)) continue;
      const BlockId slot = order_.oldest(c);
      const double chance = chance_of_reuse(c, to_seconds(now_ - states_[slot].used));
      if (victim == kNoBlock || chance < least || (chance == least && states_[slot].used < states_[victim].used)) {
        victim = slot;
        least = chance;
      }
    }
    if (victim == kNoBlock) return kNoBlock;
    order_.remove(victim);
    evicted_unused_s_ += to_seconds(now_ - states_[victim].used);
    ++evicted_;
    gone_.push(states_[victim].key, states_[victim].used.count());
    return victim;
  }

 private:
  static constexpr std::uint32_t kCategories = 64;
  struct Learnt {
    double uses = 0;
    double reuses = 0;
    double reuse_s = 0;
  };
  struct State {
    std::uint64_t key = kNoKey;
    SimTime used;
    std::uint32_t category = 0;
  };

  void learn(std::uint32_t category, SimTime after) {
    for (Learnt* learnt : {&learnt_[std::min(category, kCategories - 1)], &all_}) {
      ++learnt->reuses;
      learnt->reuse_s += to_seconds(after);
    }
  }
  void use(BlockId slot, const Reference& r) {
    now_ = r.now;
    const std::uint32_t category = std::min(r.category, kCategories - 1);
    categories_ = std::max(categories_, category + 1);
    states_[slot] = {r.key, r.now, category};
    ++learnt_[category].uses;
    ++all_.uses;
  }
  [[nodiscard]] double chance_of_reuse(std::uint32_t category, double idle_s) const {
    if (all_.reuses == 0 || all_.reuse_s == 0 || evicted_ == 0) return std::exp(-idle_s);  // nothing learnt: as lru
    const Learnt& own = learnt_[category];
    const double share = (own.reuses + all_.reuses / all_.uses) / (own.uses + 1);
    const double mean_s = (own.reuse_s + all_.reuse_s / all_.reuses) / (own.reuses + 1);
    const double life_s = evicted_unused_s_ / evicted_;
    const double still = share * std::exp(-idle_s / mean_s);
    return still * -std::expm1(-life_s / mean_s) / (1 - share + still);
  }

  SlotLists order_;
  std::vector<State> states_;
  GhostQueue gone_;  // with the time of their last use
  std::array<Learnt, kCategories> learnt_{};
  Learnt all_;
  std::uint32_t categories_ = 0;
  SimTime now_;
  double evicted_unused_s_ = 0;
  double evicted_ = 0;
};

}  // namespace blockyard::kv
