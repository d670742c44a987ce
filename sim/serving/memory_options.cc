#include "sim/serving/memory_options.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace blockyard::serving {
namespace {

using scenario::Document;

kv::Compaction compaction(const Document& scenario) {
  if (scenario.is_word("kv_cache.compaction", "never")) return {};
  if (scenario.is_word("kv_cache.compaction", "on_failure")) return {.on_failure = true};
  return {.threshold = scenario.real("kv_cache.compaction")};
}

// A tensor of keys and one of values for each layer, as far as a GPU holds them.
kv::PageGeometry page_geometry(const ServedMemory& s, Bytes page) {
  std::vector<kv::PageGeometry::Tensors> tensors;
  for (const model::LayerGroup& group : layer_groups(*s.model, s.stage)) {
    const double bytes = model::token_bytes(group, {s.tensor_parallel, 1, s.kv_dtype});  // keys and values
    for (const std::int64_t part : {group.d_k, group.d_v}) {
      const auto elements =
          static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(1, group.d_k + group.d_v));
      const std::int64_t token = std::llround(bytes * elements);
      if (token == 0 || group.layers() == 0) continue;
      if (!tensors.empty() && tensors.back().token_bytes == token) {
        tensors.back().count += group.layers();
      } else {
        tensors.push_back({token, group.layers()});
      }
    }
  }
  return {page, std::move(tensors)};
}

struct PageTimes {
  Bytes up_to;
  Seconds map_s;
  Seconds unmap_s;
};
constexpr PageTimes kPageTimes[] = {{Bytes(64 << 10), 8e-6, 2e-6},
                                    {Bytes(128 << 10), 8.5e-6, 3e-6},
                                    {Bytes(1 << 20), 9e-6, 4e-6},
                                    {Bytes(INT64_MAX), 40e-6, 34e-6}};

}  // namespace

kv::MemoryOptions memory_options(const Document& scenario, const ServedMemory& s) {
  const std::string& strategy = scenario.choice("kv_cache.strategy");
  const kv::StrategyTraits traits = kv::traits_of_strategy(strategy);
  kv::MemoryOptions options;
  options.capacity = s.usable;
  options.block_size = s.blocks.block_size;
  options.max_model_len = s.max_model_len;
  options.longest_chunk = s.longest_chunk;
  options.tables = s.blocks.tables;
  options.block_pieces = s.blocks.block_pieces();
  if (traits.regions) {
    options.reservation = scenario.choice("kv_cache.reservation");
    options.placement = scenario.choice("kv_cache.placement");
    options.compaction = compaction(scenario);
    if (options.reservation == "grow") options.initial_tokens = scenario.tokens("kv_cache.initial_tokens");
  }
  if (traits.pages) {
    const Bytes page = scenario.bytes("kv_cache.page_size");
    options.pages = s.budget.kv_bytes.count() / page.count();
    options.page_geometry = page_geometry(s, page);
    options.keep_pages = scenario.boolean("kv_cache.keep_pages");
  }
  return options;
}

MemoryTimes memory_times(const Document& scenario, const ServedMemory& s) {
  const kv::StrategyTraits traits = kv::traits_of_strategy(scenario.choice("kv_cache.strategy"));
  MemoryTimes times;
  times.copied_token_s = 2.0 * static_cast<double>(s.token_bytes.count()) / s.gpu->memory_bandwidth_bytes_per_s;
  if (!traits.pages) return times;
  const Bytes page = scenario.bytes("kv_cache.page_size");
  const auto* row = kPageTimes;
  while (row->up_to < page) ++row;
  const auto cost = [&](const char* key, Seconds automatic) {
    return scenario.is_word(key, "auto") ? automatic : to_seconds(scenario.time(key));
  };
  times.mapped_page_s = cost("kv_cache.map_cost", row->map_s);
  times.unmapped_page_s = cost("kv_cache.unmap_cost", row->unmap_s);
  return times;
}

}  // namespace blockyard::serving
