// A cache in parts, each with a policy of its own: what is pinned, and one part a tenant.
//   pinned   the first blocks of every chain, as many as the options say: they go when no other block is left, or when
//            their policy lets them go by their age. A range of the prompt with a retention priority of its own, as
//            TensorRT-LLM's KvCacheRetentionConfig has it.
//   quota    what is cached for a tenant is bounded: beyond it that tenant's own blocks go at once, chosen by the
//            policy among them. Where room is needed the tenant with most cached blocks gives (of equals the one seen
//            first), so that nobody's burst drives out all that others have. A block counts for the tenant who entered
//            it; pinned ones, and those that a request holds, count for nobody.
// Cost: O(1) a block beside the policies' own; an eviction of n blocks looks at all tenants up to n times, once for
// each stretch that one tenant gives; 4 bytes a block, and the policy's state for every slot of the pool in each part,
// set up when a tenant is seen first. Time passes in O(parts) where the policy knows of it, else in O(1) and what is
// beyond a quota.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "sim/kv/eviction/eviction.h"

namespace blockyard::kv {

struct PartitionOptions {
  std::int64_t pinned_blocks = 0;  // at the beginning of a chain
  std::int64_t quota_blocks = 0;   // of a tenant; 0 = no limit, and no parts by tenant
  bool expires = false;            // the policy lets blocks go by their age

  [[nodiscard]] bool any() const { return pinned_blocks > 0 || quota_blocks > 0; }
};

class PartitionedEviction final : public Eviction {
 public:
  using MakePolicy = std::function<std::unique_ptr<Eviction>()>;
  PartitionedEviction(const PartitionOptions& parts, std::int64_t slots, MakePolicy make);

  void enter(std::span<const Entry> blocks) override;
  void hit(std::span<const Entry> blocks) override;
  void hold(std::span<const BlockId> blocks) override;
  void let_go(std::span<const BlockId> blocks) override;
  void evict(std::size_t count, std::vector<BlockId>& out) override;
  // Those beyond a quota too.
  void expire(SimTime now, std::vector<BlockId>& out) override;
  void want(std::span<const std::uint64_t> keys) override;
  void unwant(std::span<const std::uint64_t> keys) override;

 private:
  static constexpr std::uint32_t kPinned = 0;
  struct Part {
    std::unique_ptr<Eviction> policy;
    std::int64_t idle = 0;
  };

  [[nodiscard]] std::uint32_t part_for(const Reference& reference);
  std::uint32_t add_part();
  // Calls `act` for each stretch of equal parts.
  template <class Item, class PartOf, class Act>
  static void in_stretches(std::span<const Item> items, PartOf part_of, Act act) {
    while (!items.empty()) {
      const std::uint32_t part = part_of(items.front());
      std::size_t count = 1;
      while (count < items.size() && part_of(items[count]) == part) ++count;
      act(part, items.first(count));
      items = items.subspan(count);
    }
  }

  PartitionOptions options_;
  MakePolicy make_;
  std::vector<Part> parts_;                                            // the pinned one first
  boost::unordered_flat_map<std::uint32_t, std::uint32_t> of_tenant_;  // its part
  std::vector<std::uint32_t> part_of_;                                 // by slot
  std::vector<std::uint32_t> grown_;                                   // parts that may be beyond their quota
};

}  // namespace blockyard::kv
