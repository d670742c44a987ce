// An eviction policy with the rules around it: what is admitted to the cache, pinned in it, and left to each tenant.
#pragma once

#include <functional>
#include <memory>

#include "sim/kv/eviction/admission.h"
#include "sim/kv/eviction/partition.h"
#include "sim/kv/eviction/policies.h"

namespace blockyard::kv {

struct KeepingRules {
  CacheAdmission admission = CacheAdmission::always;
  Blocks pinned;     // at the beginning of every chain
  double quota = 0;  // share of the blocks that what is cached for a tenant may take; 0 = no limit

  [[nodiscard]] bool any() const { return admission != CacheAdmission::always || pinned > Blocks(0) || quota > 0; }
};

// Why the policy does not go with the rules, "" if it does.
[[nodiscard]] std::string why_not(const EvictionRow& policy, const KeepingRules& rules);

// `pool`: the blocks that a quota is a share of.
[[nodiscard]] std::unique_ptr<Eviction> make_eviction(const EvictionRow& policy, const KeepingRules& rules,
                                                      const PolicyOptions& options, Blocks pool);

// The cache alone under a policy with rules. As in a timed run, a policy is told that a content was missed when its
// block enters, after room was made for it; without rules, before.
[[nodiscard]] CacheCounts run_cache_with_rules(const EvictionRow& policy, const KeepingRules& rules,
                                               const ReferenceString& references, const CacheRunOptions& options);

}  // namespace blockyard::kv
