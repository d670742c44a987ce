#include "sim/model/sizing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace blockyard::model {
namespace {

double as_real(std::int64_t value) { return static_cast<double>(value); }

BudgetOptions budget_options(const SizeOptions& o, ElementType kv_dtype, const Stage& stage, const KvLayout& layout) {
  BudgetOptions b;
  b.request = o.request;
  b.tensor_parallel_size = o.tp;
  b.pipeline_parallel_size = o.pp;
  b.data_parallel_size = o.dp;
  b.stage = stage;
  b.gpu_memory_utilization = o.gpu_memory_utilization;
  b.max_num_batched_tokens = o.max_num_batched_tokens;
  b.max_num_seqs = o.max_num_seqs;
  b.block_size = layout.block_size > Tokens(0) ? layout.block_size : o.block_size;
  b.kv_dtype = kv_dtype;
  b.block_bytes = layout.block_bytes;
  if (layout.hybrid()) b.row_bytes = layout.row_bytes();
  b.overheads = o.overheads;
  b.given = o.given;
  return b;
}

void measure(Sizing& s) {
  const KvSplit split{s.options.tp, s.options.dcp, s.kv_dtype};
  const KvGeometry geometry = layer_groups(s.model, s.bound().stage);
  s.bytes_per_token = kv_bytes_per_token(geometry, split);
  s.bytes_per_token_beyond = kv_bytes_per_token_beyond_windows(geometry, split);
  s.window_bytes = window_bytes(geometry, split);
  s.fixed_bytes_per_sequence = fixed_bytes_per_sequence(geometry, split);
  for (const StageSize& stage : s.stages) {
    s.kv_bytes_of_replica += stage.budget.kv_bytes * s.options.tp;
    s.bytes_per_token_of_replica += kv_bytes_per_token(layer_groups(s.model, stage.stage), split) * s.options.tp;
  }
}

Tokens printed_tokens(const Sizing& s) {
  const KvLayout& layout = s.bound().layout;
  if (!layout.hybrid()) return layout.block_size * s.kv_blocks.count();
  if (s.options.engine == Engine::vllm) {
    return Tokens(static_cast<std::int64_t>(s.max_concurrency * as_real(s.max_model_len.count())));
  }
  std::int64_t groups = 0;
  Tokens smallest = layout.block_size;
  for (const PageGroup& group : layout.groups) {
    groups += group.groups;
    smallest = std::min(smallest, group.block);
  }
  return smallest * (s.kv_blocks.count() / groups);
}

}  // namespace

LayoutOptions Sizing::layout_options() const {
  LayoutOptions o;
  o.split = {options.tp, options.dcp, kv_dtype};
  o.block_size = options.block_size;
  o.max_num_batched_tokens = options.max_num_batched_tokens;
  o.hybrid_manager = options.hybrid_manager;
  o.draft_layers = options.draft_layers;
  o.speculative_tokens = options.speculative_tokens;
  return o;
}

Blocks Sizing::blocks_of(Tokens length) const { return blocks_of_sequence(bound().layout, layout_options(), length); }

Bytes Sizing::bytes_of(Tokens length) const {
  return sequence_bytes(layer_groups(model, bound().stage), KvSplit{options.tp, options.dcp, kv_dtype}, length);
}

double Sizing::by_arithmetic(Tokens length) const {
  const Bytes each = bytes_of(length);
  return each > Bytes(0) ? std::max(0.0, as_real(kv_bytes.count()) / as_real(each.count())) : 0;
}

std::int64_t Sizing::by_engine(Tokens length) const {
  const std::int64_t each = blocks_of(length).count();
  return each > 0 ? std::max<std::int64_t>(0, kv_blocks.count() - 1) / each : 0;
}

BatchLimits default_batch(const GpuSpec& gpu) {
  const bool large = gpu.memory_bytes >= Bytes(70LL << 30) && gpu.name.find("a100") == std::string::npos;
  return large ? BatchLimits{Tokens(8192), 1024} : BatchLimits{Tokens(2048), 256};
}

void check(const ModelSpec& spec, const SizeOptions& o, const Place& place, Diagnostics& diagnostics) {
  check_tensor_parallel(spec, o.tp, place, diagnostics);
  if (o.pp < 1 || o.pp > spec.num_hidden_layers) {
    diagnostics.add(place, fmt::format("pipeline_parallel_size is {}, expected 1 to the {} layers of {}", o.pp,
                                       spec.num_hidden_layers, spec.name));
  }
  if (o.dcp < 1 || (o.tp >= 1 && o.tp % o.dcp != 0)) {
    diagnostics.add(place, fmt::format("decode_context_parallel_size is {}, expected a divisor of "
                                       "tensor_parallel_size {}",
                                       o.dcp, o.tp));
  } else if (o.dcp > 1) {
    // Ranks that deal tokens out among them have to hold the same heads.
    for (const LayerGroup& group : layer_groups(spec)) {
      if (!group.attends() || group.latent || group.shares_kv) continue;
      if (o.tp / std::max<std::int64_t>(1, std::min(group.kv_heads, o.tp)) % o.dcp == 0) continue;
      diagnostics.add(place,
                      fmt::format("decode_context_parallel_size {} needs tensor_parallel_size {} to hold each of "
                                  "the {} KV heads of {} on a multiple of {} GPUs",
                                  o.dcp, o.tp, group.kv_heads, spec.name, o.dcp));
      break;
    }
  }
  BudgetOptions b;
  b.request = o.request;
  b.given = o.given;
  if (needs_weights(spec, b)) {
    diagnostics.add(place, fmt::format("{}: not all weights are known ({}); expected their bytes, or those of the KV "
                                       "cache, to be given",
                                       spec.name, fmt::join(spec.not_counted, ", ")));
  }
}

Sizing size_of(const ModelSpec& spec, const GpuSpec& gpu, const SizeOptions& options) {
  Sizing s;
  s.model = spec;
  s.gpu = gpu;
  s.options = options;
  s.kv_dtype = options.kv_dtype.value_or(default_kv_dtype(spec));
  s.max_model_len = options.max_model_len.value_or(Tokens(spec.max_position_embeddings));
  for (const Stage& stage : pipeline_stages(spec.num_hidden_layers, options.pp)) {
    StageSize size;
    size.stage = stage;
    size.layout = kv_layout(spec, stage, s.layout_options());
    size.budget = compute_budget(spec, gpu, budget_options(options, s.kv_dtype, stage, size.layout));
    s.stages.push_back(std::move(size));
  }
  const auto keeps = [](const StageSize& stage) { return !stage.layout.groups.empty(); };
  for (std::size_t i = 0; i < s.stages.size(); ++i) {
    const bool better =
        keeps(s.stages[i]) && (!keeps(s.bound()) || s.stages[i].budget.blocks < s.bound().budget.blocks);
    if (better) s.binding = i;
  }
  measure(s);
  const StageSize& bound = s.bound();
  const LayoutOptions layout = s.layout_options();
  s.kv_bytes = bound.budget.kv_bytes;
  s.kv_blocks = bound.budget.blocks;
  const Blocks one = s.blocks_of(s.max_model_len);
  s.needed_bytes = bound.layout.block_bytes * one.count();
  const bool room = std::all_of(s.stages.begin(), s.stages.end(),
                                [](const StageSize& stage) { return stage.budget.kv_bytes > Bytes(0); });
  s.fits = room && one <= s.kv_blocks;
  s.largest_max_model_len = room ? longest_sequence(bound.layout, layout, s.kv_blocks) : Tokens(0);
  if (one > Blocks(0)) s.max_concurrency = as_real(s.kv_blocks.count()) / as_real(one.count());
  s.kv_tokens = printed_tokens(s);
  if (options.engine == Engine::vllm_v0 && !bound.layout.hybrid()) {
    s.max_concurrency = as_real(s.kv_tokens.count()) / as_real(s.max_model_len.count());
  }
  return s;
}

std::vector<std::string> remedies(const Sizing& sizing) {
  std::vector<std::string> found;
  const auto fits = [&](const SizeOptions& options) {
    Diagnostics wrong;
    check(sizing.model, options, {}, wrong);
    return wrong.empty() && size_of(sizing.model, sizing.gpu, options).fits;
  };
  if (sizing.largest_max_model_len && *sizing.largest_max_model_len > Tokens(0)) {
    found.push_back(fmt::format("a max_model_len of {} or less", sizing.largest_max_model_len->count()));
  }
  const bool from_memory = std::holds_alternative<FromGpuMemory>(sizing.options.request);
  for (const double utilization : {0.92, 0.95, 0.97}) {
    if (!from_memory || utilization <= sizing.options.gpu_memory_utilization) continue;
    SizeOptions more = sizing.options;
    more.gpu_memory_utilization = utilization;
    if (!fits(more)) continue;
    found.push_back(fmt::format("gpu_memory_utilization {}", utilization));
    break;
  }
  if (bytes_per_element(sizing.kv_dtype) > 1) {
    SizeOptions narrow = sizing.options;
    narrow.kv_dtype = ElementType::fp8;
    if (fits(narrow)) found.emplace_back("an fp8 KV cache (kv_cache_dtype fp8)");
  }
  if (!sizing.model.quantization && from_memory && !sizing.options.given.weights) {
    ModelSpec light = sizing.model;
    light.quantization = Quantization{"fp8", 1, {}, false, false, ElementType::fp8};
    Diagnostics wrong;
    check(light, sizing.options, {}, wrong);
    if (wrong.empty() && size_of(light, sizing.gpu, sizing.options).fits)
      found.emplace_back("weights quantised to 8 bits");
  }
  for (std::int64_t tp = 2 * sizing.options.tp; tp <= 16; tp *= 2) {
    SizeOptions wide = sizing.options;
    wide.tp = tp;
    if (!fits(wide)) continue;
    found.push_back(fmt::format("tensor_parallel_size {}", tp));
    break;
  }
  return found;
}

}  // namespace blockyard::model
