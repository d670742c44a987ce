#include "sim/model/memory_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"

namespace blockyard::model {
namespace {

void subtract(MemoryBudget& budget, const char* name, const std::optional<Bytes>& given, Bytes ruled,
              const std::string& formula, const std::string& source) {
  if (given) {
    budget.lines.push_back({name, -*given, "given", "given"});
  } else {
    budget.lines.push_back({name, -ruled, formula, source});
  }
}

std::string weights_formula(const ModelSpec& spec, const BudgetOptions& o, const Stage& stage) {
  double elements = 0;
  for (const WeightPart& part : weight_parts(spec, 1, stage)) elements += part.elements;
  std::string text = fmt::format("{:.0f} parameters", elements);
  if (o.stage && stage.layers() < spec.num_hidden_layers) {
    text += fmt::format(" of layers {} to {}", stage.first, stage.last - 1);
  }
  text += spec.quantization ? fmt::format(" in {} over {}", spec.quantization->method, name_of(spec.dtype))
                            : fmt::format(" in {}", name_of(spec.dtype));
  if (o.tensor_parallel_size > 1) text += fmt::format(", split over {} GPUs", o.tensor_parallel_size);
  if (o.data_parallel_size > 1 && mixes_experts(spec)) {
    text += fmt::format(", routed experts over {}", o.tensor_parallel_size * o.data_parallel_size);
  }
  return text;
}

void budget_from_gpu_memory(MemoryBudget& budget, const ModelSpec& spec, const GpuSpec& gpu, const BudgetOptions& o) {
  const Stage stage = o.stage.value_or(whole_model(spec));
  const double usable = static_cast<double>(gpu.memory_bytes.count()) * o.gpu_memory_utilization;
  budget.lines.push_back(
      {"usable GPU memory", Bytes(static_cast<std::int64_t>(std::floor(usable))),
       fmt::format("{} B x gpu_memory_utilization {}", gpu.memory_bytes.count(), o.gpu_memory_utilization),
       fmt::format("{} as CUDA reports it", gpu.name)});
  subtract(budget, "weights", o.given.weights,
           weight_bytes_per_gpu(spec, o.tensor_parallel_size, stage, o.data_parallel_size),
           weights_formula(spec, o, stage), "shapes of " + spec.source);
  const OverheadPreset* preset = overhead_preset(o.overheads);
  CHECK_LAW(preset != nullptr, "no overheads \"{}\"", o.overheads);
  const MemoryOverheads ruled = preset->compute(
      spec, {o.tensor_parallel_size, o.pipeline_parallel_size, stage, o.max_num_batched_tokens, o.max_num_seqs});
  const std::string source = fmt::format("rule {}", preset->name);
  subtract(budget, "activation peak", o.given.activation_peak, ruled.activation_peak, preset->activation_rule, source);
  subtract(budget, "non-torch", o.given.non_torch, ruled.non_torch, preset->non_torch_rule, source);
  subtract(budget, "CUDA graphs", o.given.cuda_graphs, ruled.cuda_graphs, preset->cuda_graphs_rule, source);
}

}  // namespace

bool needs_weights(const ModelSpec& spec, const BudgetOptions& o) {
  return !spec.weights_known && !o.given.weights && std::holds_alternative<FromGpuMemory>(o.request);
}

ElementType default_kv_dtype(const ModelSpec& spec) {
  if (spec.kv_dtype) return *spec.kv_dtype;
  return bytes_per_element(spec.dtype) >= 2 ? spec.dtype : ElementType::bf16;
}

MemoryBudget compute_budget(const ModelSpec& spec, const GpuSpec& gpu, const BudgetOptions& o) {
  CHECK_LAW(o.block_size.count() > 0, "block_size {}", o.block_size.count());
  MemoryBudget budget;
  budget.bytes_per_token = kv_bytes_per_token(kv_geometry(spec), o.tensor_parallel_size, o.kv_dtype);
  const Bytes block_bytes = o.block_bytes.value_or(budget.bytes_per_token * o.block_size.count());

  if (const Blocks* blocks = std::get_if<Blocks>(&o.request)) {
    budget.lines.push_back({"KV cache as given", block_bytes * blocks->count(),
                            fmt::format("{} blocks of {} B", blocks->count(), block_bytes.count()), "given"});
  } else if (const Tokens* tokens = std::get_if<Tokens>(&o.request)) {
    const std::int64_t whole = tokens->count() / o.block_size.count();
    budget.lines.push_back(
        {"KV cache as given", o.row_bytes.value_or(block_bytes) * whole,
         fmt::format("{} tokens: {} whole blocks of {}", tokens->count(), whole, o.block_size.count()), "given"});
  } else if (const Bytes* bytes = std::get_if<Bytes>(&o.request)) {
    budget.lines.push_back({"KV cache as given", *bytes, "bytes of one GPU", "given"});
  } else {
    budget_from_gpu_memory(budget, spec, gpu, o);
  }

  for (const BudgetLine& line : budget.lines) budget.kv_bytes += line.bytes;
  const std::int64_t blocks = block_bytes > Bytes(0) ? budget.kv_bytes.count() / block_bytes.count() : 0;
  budget.blocks = Blocks(std::max<std::int64_t>(0, blocks));
  budget.tokens = Tokens(budget.blocks.count() * o.block_size.count());
  return budget;
}

}  // namespace blockyard::model
