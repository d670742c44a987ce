#include "sim/serving/tier_options.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace blockyard::serving {
namespace {

using scenario::Document;

// Its policy keeps 8 to 60 bytes for each.
constexpr Blocks kMostBlocks(50'000'000);

std::string key_of(std::string_view name) { return fmt::format("prefix_cache.tiers.{}", name); }

std::string section_of(std::size_t tier) { return key_of(kv::kTierNames[tier]) + "."; }

kv::TierWrite write_rule(const std::string& word) {
  if (word == "write_through") return kv::TierWrite::write_through;
  return word == "write_back" ? kv::TierWrite::write_back : kv::TierWrite::on_eviction;
}

model::LinkSpec store_link(const Document& scenario, const std::string& section) {
  model::LinkSpec link;
  link.bytes_per_s = scenario.bandwidth(section + "bandwidth");
  link.latency_s = to_seconds(scenario.time(section + "latency"));
  return link;
}

}  // namespace

bool asks_tiers(const Document& scenario) {
  for (std::size_t tier = 0; tier < kv::kTiers; ++tier) {
    if (!scenario.is_word(section_of(tier) + "size", "none")) return true;
  }
  return false;
}

TierSetup tier_setup(const Document& scenario, TierPathsOptions paths, cost::HostLink& host, cost::CostModel& cost,
                     Diagnostics& errors) {
  TierSetup setup;
  if (!asks_tiers(scenario)) return setup;
  for (std::size_t tier = 0; tier < kv::kTiers; ++tier) {
    const std::string section = section_of(tier);
    if (scenario.is_word(section + "size", "none")) continue;
    kv::TierOptions made;
    made.tier = static_cast<kv::Tier>(tier);
    const Bytes size = scenario.bytes(section + "size");
    if (size == Bytes(0)) continue;
    const std::int64_t block_bytes = paths.block_bytes.count() * paths.gpus;
    made.capacity = Blocks(size.count() / block_bytes);
    if (made.capacity > kMostBlocks) {
      errors.add(scenario.place(section + "size"),
                 fmt::format("{}size: a tier is simulated with at most {} B here, {} blocks of {} B", section,
                             kMostBlocks.count() * block_bytes, kMostBlocks.count(), block_bytes));
      continue;
    }
    if (made.capacity == Blocks(0)) {
      errors.add(scenario.place(section + "size"),
                 fmt::format("{}size: a block takes {} B, so that nothing fits; expected at least that, or none",
                             section, block_bytes));
      continue;
    }
    made.write = write_rule(scenario.choice(section + "write"));
    made.policy = kv::find_eviction(scenario.choice(section + "eviction"));
    made.options.seed = static_cast<std::uint64_t>(scenario.integer("seed"));
    if (std::string_view(made.policy->name) == "ttl") made.options.ttl = scenario.time("prefix_cache.ttl");
    if (made.policy->needs_future || made.policy->watches_queue) {
      errors.add(scenario.place(section + "eviction"),
                 fmt::format("{}eviction: {} works on the GPU alone; a tier below it knows neither the queue nor the "
                             "future",
                             section, made.policy->name));
    }
    if (made.tier != kv::Tier::host) paths.stores[tier] = store_link(scenario, section);
    setup.options.tiers.push_back(made);
  }
  if (setup.options.tiers.empty()) return setup;
  setup.options.always_load = scenario.choice(key_of("load")) == "always";
  setup.options.prefetch = scenario.choice(key_of("prefetch")) == "on_arrival";
  if (setup.options.prefetch && setup.options.tiers.front().tier != kv::Tier::host) {
    errors.add(scenario.place(key_of("prefetch")),
               "prefix_cache.tiers.prefetch: there is no host tier to bring blocks to (prefix_cache.tiers.host.size)");
  }
  setup.paths = std::make_unique<TierPaths>(paths, host, cost);
  setup.options.links = setup.paths.get();
  return setup;
}

}  // namespace blockyard::serving
