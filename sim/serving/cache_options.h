// The scenario's `prefix_cache` section -> who shares blocks, which are kept, and what is cached at the start.
#pragma once

#include <span>

#include "sim/base/diagnostics.h"
#include "sim/kv/cache/recorded_uses.h"
#include "sim/kv/memory.h"
#include "sim/kv/prefix/idle_blocks.h"
#include "sim/metrics/summary.h"
#include "sim/model/model_spec.h"
#include "sim/scenario/document.h"
#include "sim/serving/prompt_contents.h"
#include "sim/serving/requests.h"

namespace blockyard::serving {

// `requests`: what takes the place of the scenario's workload, or nullptr.
[[nodiscard]] bool prefix_caching(const scenario::Document& scenario, const RequestsOverride* requests);

// Eviction `opt` has to know what will be asked for: a first run of the scenario, with lru, records it, and the second
// is told.
struct CacheRecording {
  kv::RecordedUses* uses = nullptr;
  bool first_run = false;  // records into `uses`, evicts by lru
};
[[nodiscard]] bool needs_recording(const scenario::Document& scenario, const RequestsOverride* requests);

// Of a run with prefix caching: the engine's own order of eviction, without rules or tiers, so that the free queue is
// all there is.
[[nodiscard]] bool has_own_eviction(const scenario::Document& scenario);

// Of a run with prefix caching; what readers should know goes to `identity`. `own_eviction`: the engine takes no order
// but its own.
[[nodiscard]] kv::CacheEviction cache_eviction(const scenario::Document& scenario, bool own_eviction,
                                               const model::ModelSpec& model, Tokens max_model_len,
                                               const CacheRecording& recording, metrics::Identity& identity,
                                               Diagnostics& errors);

[[nodiscard]] CacheSalt cache_salt(const scenario::Document& scenario);

// What prefix_cache.warm names, into the caches of memories, all alike, that nobody has used yet: into each the whole.
// Returns the tokens that an id of a block stands for there, 0 where it has none.
[[nodiscard]] std::int64_t warm_cache(const scenario::Document& scenario, PromptContents& contents,
                                      std::span<kv::Memory* const> memories, metrics::Identity& identity,
                                      Diagnostics& errors);

}  // namespace blockyard::serving
