#include "sim/serving/cache_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/kv/eviction/keeping.h"
#include "sim/serving/block_costs.h"
#include "sim/serving/sample_options.h"
#include "sim/serving/tier_options.h"
#include "sim/workload/trace.h"

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

CacheSalt cache_salt(const Document& scenario) {
  const std::string& salt = scenario.choice("prefix_cache.salt");
  if (salt == "tenant") return CacheSalt::tenant;
  return salt == "request" ? CacheSalt::request : CacheSalt::none;
}

namespace {

kv::KeepingRules keeping_rules(const Document& scenario, Diagnostics& errors) {
  kv::KeepingRules rules;
  rules.admission = *kv::find_cache_admission(scenario.choice("prefix_cache.admission"));
  if (!scenario.is_word("prefix_cache.pin", "none")) {
    const Tokens pin = scenario.tokens("prefix_cache.pin");
    const Tokens block_size = scenario.tokens("kv_cache.block_size");
    rules.pinned = Blocks(pin.count() / block_size.count());
    if (rules.pinned == Blocks(0)) {
      errors.add(
          scenario.place("prefix_cache.pin"),
          fmt::format("prefix_cache.pin: {} tokens fill no block, so that nothing is pinned; expected none or at "
                      "least {} tokens, kv_cache.block_size",
                      pin.count(), block_size.count()));
    }
  }
  if (!scenario.is_word("prefix_cache.quota", "none")) rules.quota = scenario.real("prefix_cache.quota");
  return rules;
}

void note_opt(const kv::RecordedUses* uses, metrics::Identity& identity) {
  identity.notes.push_back(
      fmt::format("prefix_cache.eviction: opt was told the lookups of a first run with lru, {} admissions; it is the "
                  "optimum of that sequence, and its own run admits in its own order",
                  uses == nullptr ? 0 : uses->admissions()));
}

}  // namespace

bool has_own_eviction(const Document& scenario) {
  return scenario.choice("prefix_cache.eviction") == "lru" && scenario.choice("prefix_cache.admission") == "always" &&
         scenario.is_word("prefix_cache.pin", "none") && scenario.is_word("prefix_cache.quota", "none") &&
         !asks_tiers(scenario);
}

// The engine's own order is that of the free queue itself; other policies, and rules, keep idle blocks by themselves.
kv::CacheEviction cache_eviction(const Document& scenario, bool own_eviction, const model::ModelSpec& model,
                                 Tokens max_model_len, const CacheRecording& recording, metrics::Identity& identity,
                                 Diagnostics& errors) {
  kv::CacheEviction made;
  const std::string& name = scenario.choice("prefix_cache.eviction");
  identity.eviction = name;
  if (own_eviction) {
    const std::string& scheduler = scenario.choice("engine.scheduler");
    const auto own_order = [&](const char* key, const char* expected) {
      errors.add(scenario.place(key),
                 fmt::format("{}: {} has an order of its own; expected {}", key, scheduler, expected));
    };
    if (name != "lru") own_order("prefix_cache.eviction", "lru");
    if (scenario.choice("prefix_cache.admission") != "always") own_order("prefix_cache.admission", "always");
    if (!scenario.is_word("prefix_cache.pin", "none")) own_order("prefix_cache.pin", "none");
    if (!scenario.is_word("prefix_cache.quota", "none")) own_order("prefix_cache.quota", "none");
    if (asks_tiers(scenario)) {
      errors.add(scenario.place("prefix_cache.tiers"),
                 fmt::format("prefix_cache.tiers: {} has nothing below the GPU but its swap space", scheduler));
    }
    return made;
  }
  made.rules = keeping_rules(scenario, errors);
  if (recording.first_run) {
    made.record = recording.uses;
    return made;
  }
  if (has_own_eviction(scenario)) return made;
  made.policy = kv::find_eviction(name);
  if (const std::string why = kv::why_not(*made.policy, made.rules); !why.empty()) {
    errors.add(scenario.place("prefix_cache.eviction"),
               fmt::format("prefix_cache.eviction: not together with prefix_cache.admission, pin or quota: {}", why));
  }
  made.options.seed = static_cast<std::uint64_t>(scenario.integer("seed"));
  if (name == "ttl") made.options.ttl = scenario.time("prefix_cache.ttl");
  const Tokens block_size = scenario.tokens("kv_cache.block_size");
  made.cost = block_costs(model, block_size, blocks_for(max_model_len, block_size).count());
  if (!made.policy->needs_future) return made;
  made.future = recording.uses;
  note_opt(recording.uses, identity);
  return made;
}

std::int64_t warm_cache(const Document& scenario, PromptContents& contents, std::span<kv::Memory* const> memories,
                        metrics::Identity& identity, Diagnostics& errors) {
  if (scenario.is_word("prefix_cache.warm", "none")) return 0;
  const std::filesystem::path file = scenario.file("prefix_cache.warm");
  try {
    workload::TraceOptions how;
    how.contents = &contents.store();
    how.untimed = workload::UntimedRows::keep;
    const auto trace = workload::open_trace(file.string(), how);
    std::array<workload::Request, 256> some;
    Content content;
    std::uint32_t requests = 0;
    while (const std::size_t count = trace->read(some)) {
      for (const workload::Request& request : std::span(some).first(count)) {
        contents.said_before(requests++, request, content);
        const bool remembered = std::ranges::all_of(
            memories, [&](kv::Memory* memory) { return memory->remember(content, PromptContents::origin(request)); });
        if (remembered) continue;
        errors.add(scenario.place("prefix_cache.warm"),
                   fmt::format("prefix_cache.warm: {} starts with an empty cache; expected none",
                               scenario.choice("engine.scheduler")));
        return 0;
      }
    }
    const kv::Memory& memory = *memories.front();
    const double cached =
        static_cast<double>(memory.partition()[MemoryState::cached]) / static_cast<double>(memory.total_pieces());
    identity.notes.push_back(fmt::format("the cache starts with what {} requests of {} said: {:.1f} % of the pool",
                                         requests, file.filename().string(), 100 * cached));
    return trace->report().hash_block;
  } catch (const InputError& error) {
    errors.add_all(error);
  }
  return 0;
}

}  // namespace blockyard::serving
