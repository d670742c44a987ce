#include "sim/serving/cache_options.h"

#include <fmt/format.h>

#include "sim/kv/eviction/policies.h"
#include "sim/serving/block_costs.h"
#include "sim/serving/sample_options.h"

namespace blockyard::serving {

using scenario::Document;

bool prefix_caching(const Document& scenario, const RequestsOverride* requests) {
  if (scenario.choice("kv_cache.strategy") != "paged") return false;
  if (!scenario.is_word("prefix_cache.enable", "auto")) return scenario.boolean("prefix_cache.enable");
  if (requests != nullptr) return requests->tells_contents;
  if (asks_samples(scenario) && asks_beams(scenario)) return false;
  return tells_contents(scenario);
}

bool needs_recording(const Document& scenario, const RequestsOverride* requests) {
  return prefix_caching(scenario, requests) && scenario.choice("prefix_cache.eviction") == "opt";
}

// The engine's own order is that of the free queue itself; other policies keep idle blocks by themselves.
kv::CacheEviction cache_eviction(const Document& scenario, bool own_eviction, const model::ModelSpec& model,
                                 Tokens max_model_len, const CacheRecording& recording, metrics::Identity& identity,
                                 Diagnostics& errors) {
  kv::CacheEviction made;
  const std::string& name = scenario.choice("prefix_cache.eviction");
  identity.eviction = name;
  if (own_eviction && name != "lru") {
    errors.add(scenario.place("prefix_cache.eviction"),
               fmt::format("prefix_cache.eviction: {} has an order of its own; expected lru",
                           scenario.choice("engine.scheduler")));
    return made;
  }
  if (recording.first_run) {
    made.record = recording.uses;
    return made;
  }
  if (name == "lru") return made;
  made.policy = kv::find_eviction(name);
  made.options.seed = static_cast<std::uint64_t>(scenario.integer("seed"));
  if (name == "ttl") made.options.ttl = scenario.time("prefix_cache.ttl");
  const Tokens block_size = scenario.tokens("kv_cache.block_size");
  made.cost = block_costs(model, block_size, blocks_for(max_model_len, block_size).count());
  if (!made.policy->needs_future) return made;
  made.future = recording.uses;
  identity.notes.push_back(
      fmt::format("prefix_cache.eviction: opt was told the lookups of a first run with lru, {} admissions; it is the "
                  "optimum of that sequence, and its own run admits in its own order",
                  recording.uses == nullptr ? 0 : recording.uses->admissions()));
  return made;
}

}  // namespace blockyard::serving
