// The scenario's `prefix_cache.tiers` section -> the tiers below the GPU, and the ways to them.
#pragma once

#include <memory>

#include "sim/base/diagnostics.h"
#include "sim/cost/cost_model.h"
#include "sim/kv/tiers/lower_tiers.h"
#include "sim/model/link.h"
#include "sim/scenario/document.h"
#include "sim/serving/tier_paths.h"

namespace blockyard::serving {

[[nodiscard]] bool asks_tiers(const scenario::Document& scenario);

struct TierSetup {
  kv::TiersOptions options;
  std::unique_ptr<TierPaths> paths;  // nullptr without tiers
};

// `paths`: but for the stores' links. `host` and `cost` outlive the paths.
[[nodiscard]] TierSetup tier_setup(const scenario::Document& scenario, TierPathsOptions paths, cost::HostLink& host,
                                   cost::CostModel& cost, Diagnostics& errors);

}  // namespace blockyard::serving
