#include <string>

#include "sim/scenario/key_groups.h"

namespace blockyard::scenario {
namespace {

struct TierDefaults {
  const char* name;
  const char* doc;
  const char* write;
};

Keys keys_of_tier(const TierDefaults& tier, const Vocabulary& names) {
  const std::string section = std::string("prefix_cache.tiers.") + tier.name + ".";
  return {
      {.path = section + "size",
       .accepts = {{Kind::bytes, between(0, 1e18)}},
       .words = {{"none", "there is no such tier"}},
       .fallback = "none",
       .doc = std::string("KV that fits into ") + tier.doc + ", of the whole replica"},
      {.path = section + "eviction",
       .words = names.evictions,
       .fallback = "lru",
       .doc = "which of its blocks goes when it is full"},
      {.path = section + "write",
       .words = {{"write_through", "when a block has been computed"},
                 {"write_back", "when its last owner has let it go"},
                 {"on_eviction", "when the tier above gives it up; the GPU waits for the copy"}},
       .fallback = tier.write,
       .doc = "when a block is written there"},
  };
}

Keys link_keys(const std::string& tier, const char* bandwidth, const char* latency) {
  const std::string section = "prefix_cache.tiers." + tier + ".";
  return {{.path = section + "bandwidth",
           .accepts = {{Kind::bandwidth, at_least(1e6)}},
           .fallback = bandwidth,
           .doc = "between it and host memory, each way, of the whole replica; assumed unless measured"},
          {.path = section + "latency",
           .accepts = {{Kind::time, between(0, 3600)}},
           .fallback = latency,
           .doc = "of a transfer of any size; assumed unless measured"}};
}

}  // namespace

Keys tier_keys(const Vocabulary& names) {
  Keys keys = keys_of_tier({"host", "host memory", "write_through"}, names);
  append(keys, keys_of_tier({"nvme", "local drives", "on_eviction"}, names));
  // What a drive on PCIe 4.0 x4 (7.9 GB/s) reads at best; the latency is assumed.
  append(keys, link_keys("nvme", "7 GB/s", "100 us"));
  append(keys, keys_of_tier({"remote", "a store that others see too", "on_eviction"}, names));
  // A network of 100 Gbit/s; the latency is assumed.
  append(keys, link_keys("remote", "12.5 GB/s", "1 ms"));
  append(
      keys,
      {{.path = "prefix_cache.tiers.load",
        .words = {{"cheapest", "where it takes less time than to compute them again"}, {"always", "whatever it takes"}},
        .fallback = "cheapest",
        .doc = "when blocks that a tier has are brought back to the GPU"},
       {.path = "prefix_cache.tiers.prefetch",
        .words = {{"never", "at admission, all the way"},
                  {"on_arrival", "into host memory as soon as a request waits"}},
        .fallback = "never",
        .doc = "when blocks in the stores behind the host are asked for"}});
  return keys;
}

}  // namespace blockyard::scenario
