#include "sim/scenario/key_groups.h"

namespace blockyard::scenario {

Keys prefix_cache_keys(const Vocabulary& names) {
  return {
      {.path = "prefix_cache.enable",
       .accepts = {Kind::boolean},
       .words = {{"auto", "if the workload says what prompts share, and the model keeps no recurrent state"}},
       .fallback = "auto",
       .doc = "full blocks are found again by their content (paged)",
       .aliases = {"enable_prefix_caching"}},
      {.path = "prefix_cache.eviction",
       .words = names.evictions,
       .fallback = "lru",
       .doc = "which cached block without an owner goes when room is needed"},
      {.path = "prefix_cache.ttl",
       .accepts = {{Kind::time, above(0)}},
       .fallback = "300 s",
       .doc = "how long blocks without an owner stay, under the eviction ttl"},
      {.path = "prefix_cache.admission",
       .words = names.cache_admissions,
       .fallback = "always",
       .doc = "which blocks are worth keeping; the others go first"},
      {.path = "prefix_cache.pin",
       .accepts = {{Kind::tokens, kAtLeastOne}},
       .words = {{"none", "all blocks are alike"}},
       .fallback = "none",
       .doc = "full blocks of the first so many tokens of every prompt go last"},
      {.path = "prefix_cache.quota",
       .accepts = {{Kind::real, above_up_to(0, 1)}},
       .words = {{"none", "tenants share the cache as they come"}},
       .fallback = "none",
       .doc = "share of the pool that what is cached for one tenant may take"},
      {.path = "prefix_cache.salt",
       .words = {{"none", "whoever says the same shares it"},
                 {"tenant", "only requests of one tenant share"},
                 {"request", "nobody shares; a preempted request finds its own"}},
       .fallback = "none",
       .doc = "who may share blocks (cache_salt)",
       .aliases = {"cache_salt"}},
      {.path = "prefix_cache.warm",
       .accepts = {Kind::file},
       .words = {{"none", "the cache is empty"}},
       .fallback = "none",
       .doc = "a trace whose requests have been served before the run: what they said is cached at its start"},
  };
}

}  // namespace blockyard::scenario
