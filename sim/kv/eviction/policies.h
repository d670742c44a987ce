// The table of eviction policies: the names a scenario and `blockyard cache` may use, in one place.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "sim/base/named.h"
#include "sim/kv/cache/cache_run.h"
#include "sim/kv/eviction/eviction.h"

namespace blockyard::kv {

struct EvictionRow {
  const char* name;
  const char* doc;
  bool inclusive;      // hits never fall with capacity
  bool needs_future;   // has to be told what will be asked for
  bool watches_queue;  // is told what waiting requests will ask for
  bool knows_time;     // lets blocks go by their age
  std::unique_ptr<Eviction> (*make)(const PolicyOptions& options);
  CacheCounts (*run)(const ReferenceString& references, const CacheRunOptions& options);  // the cache alone
};

[[nodiscard]] std::span<const EvictionRow> eviction_policies();
[[nodiscard]] NameDocs evictions();
// nullptr for a name that is not in the table.
[[nodiscard]] const EvictionRow* find_eviction(std::string_view name);

}  // namespace blockyard::kv
