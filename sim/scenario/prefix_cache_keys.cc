#include "sim/scenario/key_groups.h"

namespace blockyard::scenario {

Keys prefix_cache_keys(const Vocabulary& names) {
  return {
      {.path = "prefix_cache.enable",
       .accepts = {Kind::boolean},
       .words = {{"auto", "if the workload says what prompts share"}},
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
  };
}

}  // namespace blockyard::scenario
