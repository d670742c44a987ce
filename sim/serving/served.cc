#include "sim/serving/served.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/model/sizing.h"
#include "sim/sched/preemption/mode.h"
#include "sim/sched/schedulers.h"
#include "sim/serving/cache_options.h"

namespace blockyard::serving {

using scenario::Document;
using scenario::Kind;

std::optional<Served> served(const Document& scenario, const std::filesystem::path& configs, Diagnostics& errors) try {
  Served s{load_model(scenario, configs),
           load_gpu(scenario, configs),
           scenario.integer("hardware.tensor_parallel_size"),
           scenario.integer("hardware.pipeline_parallel_size"),
           scenario.integer("hardware.data_parallel_size"),
           Tokens(0),
           model::ElementType::bf16,
           Tokens(0)};
  if (model::kv_bytes_per_token(model::kv_geometry(s.model), model::KvSplit{}) == Bytes(0)) {
    errors.add(scenario.place("model"),
               fmt::format("model: {} keeps no KV of its tokens: there is no cache to simulate", s.model.name));
  }
  model::check_tensor_parallel(s.model, s.tensor_parallel, scenario.place("hardware.tensor_parallel_size"), errors);
  if (s.stages > s.model.num_hidden_layers) {
    errors.add(scenario.place("hardware.pipeline_parallel_size"),
               fmt::format("hardware.pipeline_parallel_size: expected 1 to the {} layers of {}, found {}",
                           s.model.num_hidden_layers, s.model.name, s.stages));
  }
  const Tokens limit(s.model.max_position_embeddings);
  s.max_model_len = scenario.is_word("engine.max_model_len", "auto") ? limit : scenario.tokens("engine.max_model_len");
  s.kv_dtype = scenario.is_word("kv_cache.dtype", "auto") ? model::default_kv_dtype(s.model)
                                                          : *model::element_type(scenario.choice("kv_cache.dtype"));
  const bool chunks = sched::traits_of(scenario.choice("engine.scheduler")).needs_budget_for_seqs;
  s.longest_chunk = chunks ? scenario.tokens("engine.max_num_batched_tokens") : s.max_model_len;
  return s;
} catch (const InputError& error) {
  errors.add_all(error);
  return std::nullopt;
}

namespace {

model::BudgetRequest budget_request(const Document& scenario) {
  if (scenario.is("kv_cache.budget", Kind::blocks)) return scenario.blocks("kv_cache.budget");
  if (scenario.is("kv_cache.budget", Kind::tokens)) return scenario.tokens("kv_cache.budget");
  if (scenario.is("kv_cache.budget", Kind::bytes)) return scenario.bytes("kv_cache.budget");
  return model::FromGpuMemory{};
}

// The arithmetic of a model that leaves nothing for KV, and what would make room.
std::string refusal(const Served& s, const model::BudgetOptions& budget, const model::MemoryBudget& result) {
  std::string text = fmt::format("{} does not fit on {} x {}: nothing is left for the KV cache", s.model.name, s.gpus(),
                                 s.gpu.spec.name);
  for (const model::BudgetLine& line : result.lines) {
    text += fmt::format("\n    {:>9.2f} GiB  {}", gib(line.bytes), line.name);
  }
  model::SizeOptions size;
  size.request = budget.request;
  size.kv_dtype = budget.kv_dtype;
  size.tp = budget.tensor_parallel_size;
  size.pp = budget.pipeline_parallel_size;
  size.dp = budget.data_parallel_size;
  size.gpu_memory_utilization = budget.gpu_memory_utilization;
  size.max_model_len = s.max_model_len;
  size.max_num_batched_tokens = budget.max_num_batched_tokens;
  const std::vector<std::string> ways = model::remedies(model::size_of(s.model, s.gpu.spec, size));
  if (!ways.empty()) text += fmt::format("\n  what would make it fit, each by itself: {}", fmt::join(ways, "; "));
  return text + "\n  `blockyard size` shows the arithmetic in full";
}

// Blocks of paged memory; other strategies have blocks of one token, but for a budget given in blocks.
BlockLayout blocks_of(const Document& scenario, const Served& s, const model::Stage& stage, bool cached, bool forks) {
  BlockLayout made;
  made.block_size = Tokens(1);
  const std::string& strategy = scenario.choice("kv_cache.strategy");
  if (strategy == "none") return made;
  model::LayoutOptions options;
  options.split = {s.tensor_parallel, 1, s.kv_dtype};
  options.max_num_batched_tokens = s.longest_chunk;
  const bool paged = strategy == "paged";
  if (paged) {
    options.block_size = scenario.tokens("kv_cache.block_size");
    options.hybrid_manager = scenario.choice("kv_cache.hybrid_kv_cache_manager") == "on";
  }
  const bool moves_parts =
      sched::mode_swaps(scenario.choice("preemption.mode")) || scenario.boolean("preemption.tail_blocks");
  const bool own_memory = sched::traits_of(scenario.choice("engine.scheduler")).paged_only;
  const bool one = !paged || forks || moves_parts || own_memory || (cached && !has_own_eviction(scenario));
  made = block_layout(s.model, stage, options, s.max_model_len,
                      one      ? TableUse::one
                      : cached ? TableUse::named
                               : TableUse::counted);
  if (!paged) made.block_size = Tokens(1);
  return made;
}

Bytes token_bytes(const Served& s, const model::Stage& stage) {
  return model::kv_bytes_per_token(layer_groups(s.model, stage), s.tensor_parallel, s.kv_dtype);
}

model::MemoryBudget budget(const Document& scenario, const Served& s, const model::Stage& stage,
                           const BlockLayout& blocks, Diagnostics& errors) {
  model::BudgetOptions options;
  options.request = budget_request(scenario);
  options.tensor_parallel_size = s.tensor_parallel;
  options.data_parallel_size = s.replicas;
  options.gpu_memory_utilization = scenario.real("hardware.gpu_memory_utilization");
  options.max_num_batched_tokens = scenario.tokens("engine.max_num_batched_tokens");
  const bool paged = scenario.choice("kv_cache.strategy") == "paged";
  options.block_size = !paged && scenario.is("kv_cache.budget", Kind::blocks) ? scenario.tokens("kv_cache.block_size")
                                                                              : blocks.block_size;
  if (blocks.block_bytes) {
    options.block_bytes = blocks.block_bytes;
    options.row_bytes = blocks.layout.row_bytes();
  }
  if (s.stages > 1) {
    options.pipeline_parallel_size = s.stages;
    options.stage = stage;
    if (!options.block_bytes) options.block_bytes = token_bytes(s, stage) * options.block_size.count();
  }
  options.kv_dtype = s.kv_dtype;
  options.max_num_seqs = scenario.integer("engine.max_num_seqs");
  if (model::needs_weights(s.model, options)) {
    errors.add(
        scenario.place("kv_cache.budget"),
        fmt::format("kv_cache.budget: not all weights of {} are known ({}); expected blocks, tokens or GiB in place "
                    "of auto",
                    s.model.name, fmt::join(s.model.not_counted, ", ")));
    return {};
  }
  model::MemoryBudget result = model::compute_budget(s.model, s.gpu.spec, options);
  if (result.kv_bytes <= Bytes(0)) {
    errors.add_does_not_fit(scenario.place("model"), refusal(s, options, result));
  }
  return result;
}

}  // namespace

Pool pool_of(const Document& scenario, const Served& s, bool cached, bool forks, Diagnostics& errors) {
  Pool pool;
  bool first = true;
  for (const model::Stage& stage : model::pipeline_stages(s.model.num_hidden_layers, s.stages)) {
    const Bytes bytes = token_bytes(s, stage);
    BlockLayout blocks = blocks_of(scenario, s, stage, cached, forks);
    model::MemoryBudget made = budget(scenario, s, stage, blocks, errors);
    if (!errors.empty()) return pool;
    pool.token_bytes = std::max(pool.token_bytes, bytes);
    if (bytes == Bytes(0) || (!first && made.blocks >= pool.budget.blocks)) continue;
    first = false;
    pool.blocks = std::move(blocks);
    pool.budget = std::move(made);
    pool.stage = stage;
  }
  return pool;
}

}  // namespace blockyard::serving
