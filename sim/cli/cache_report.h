// What `blockyard cache` found, as a screen and as JSON (schema blockyard.cache/1, described in cli/README.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/kv/cache/cost_bound.h"
#include "sim/study/cache_study.h"
#include "sim/study/cache_trace.h"

namespace blockyard::cli {

// A capacity at which nothing is evicted for room, whatever the trace.
inline constexpr std::int64_t kUnlimited = INT64_MAX;

struct CacheReport {
  const std::string& file;
  const study::CacheTrace& trace;
  const kv::ReuseDistances& lru;
  const kv::CostBound& bound;
  const std::string& model;
  const study::CacheStudy& study;
  bool answers = false;                                // kept too
  serving::CacheSalt salt = serving::CacheSalt::none;  // who shares
  std::string unit = "blocks";                         // that capacities were asked for in, and how many blocks it is
  double blocks_a_unit = 1;
  std::vector<study::CacheResult> results;
};

[[nodiscard]] std::string cache_text(const CacheReport& report);
[[nodiscard]] std::string cache_json(const CacheReport& report);

}  // namespace blockyard::cli
