#include "sim/kv/eviction/keeping.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace blockyard::kv {
namespace {

// An Eviction in the verbs of policy.h, block by block.
class AnyPolicy final : public PolicyDefaults {
 public:
  AnyPolicy(const PolicyOptions& options, const CacheRunOptions& run) : policy_(run.make(options)) {}

  void insert(BlockId slot, const Reference& r) {
    const Eviction::Entry entry{slot, r};
    policy_->enter({&entry, 1});
  }
  void hit(BlockId slot, const Reference& r) {
    const Eviction::Entry entry{slot, r};
    policy_->hit({&entry, 1});
  }
  void hold(BlockId slot) { policy_->hold({&slot, 1}); }
  void let_go(BlockId slot) { policy_->let_go({&slot, 1}); }
  BlockId evict() {
    some_.clear();
    policy_->evict(1, some_);
    return some_.front();
  }
  BlockId expire(SimTime now) {
    if (over_.empty()) policy_->expire(now, over_);
    if (over_.empty()) return kNoBlock;
    const BlockId slot = over_.back();
    over_.pop_back();
    return slot;
  }
  void want(std::uint64_t key) { policy_->want({&key, 1}); }
  void unwant(std::uint64_t key) { policy_->unwant({&key, 1}); }

 private:
  std::unique_ptr<Eviction> policy_;
  std::vector<BlockId> some_;
  std::vector<BlockId> over_;  // their time is over; not yet told
};

std::int64_t quota_blocks(const KeepingRules& rules, Blocks pool) {
  if (rules.quota == 0) return 0;
  constexpr double kMost = 1e15;  // what is unlimited stays so
  const double blocks = std::min(kMost, rules.quota * static_cast<double>(pool.count()));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(blocks));
}

}  // namespace

std::string why_not(const EvictionRow& policy, const KeepingRules& rules) {
  if (rules.any() && policy.needs_future) return fmt::format("{} is the bound of a cache without rules", policy.name);
  if (rules.admission != CacheAdmission::always && policy.knows_time)
    return fmt::format("{} lets blocks go by their age, admitted or not", policy.name);
  if (rules.quota > 0 && policy.watches_queue)
    return fmt::format("{} looks at the one queue of all tenants", policy.name);
  return "";
}

std::unique_ptr<Eviction> make_eviction(const EvictionRow& policy, const KeepingRules& rules,
                                        const PolicyOptions& options, Blocks pool) {
  const PartitionOptions parts{rules.pinned.count(), quota_blocks(rules, pool), policy.knows_time};
  PolicyOptions inner = options;
  if (parts.quota_blocks > 0) inner.capacity = std::min(inner.capacity, parts.quota_blocks);
  const auto make = [&policy, rules, inner] {
    std::unique_ptr<Eviction> made = policy.make(inner);
    if (rules.admission == CacheAdmission::always) return made;
    return std::unique_ptr<Eviction>(std::make_unique<FilteredEviction>(rules.admission, std::move(made), inner));
  };
  if (!parts.any()) return make();
  return std::make_unique<PartitionedEviction>(parts, options.slots, make);
}

CacheCounts run_cache_with_rules(const EvictionRow& policy, const KeepingRules& rules,
                                 const ReferenceString& references, const CacheRunOptions& options) {
  if (!rules.any()) return policy.run(references, options);
  CacheRunOptions with = options;
  with.make = [&](const PolicyOptions& made) { return make_eviction(policy, rules, made, Blocks(options.capacity)); };
  return run_cache<AnyPolicy>(references, with);
}

}  // namespace blockyard::kv
