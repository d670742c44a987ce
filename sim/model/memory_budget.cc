#include "sim/model/memory_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"
#include "sim/model/weights.h"

namespace blockyard::model {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

Bytes gib(double amount) { return Bytes(std::llround(amount * kGiB)); }

void subtract(MemoryBudget& budget, std::string name, Bytes bytes, std::string formula) {
  budget.lines.push_back({std::move(name), -bytes, std::move(formula)});
}

void budget_from_gpu_memory(MemoryBudget& budget, const ModelSpec& spec, const GpuSpec& gpu, const BudgetOptions& o) {
  const double usable = static_cast<double>(gpu.memory_bytes.count()) * o.gpu_memory_utilization;
  budget.lines.push_back(
      {"usable GPU memory", Bytes(static_cast<std::int64_t>(std::floor(usable))),
       fmt::format("{} B x gpu_memory_utilization {}", gpu.memory_bytes.count(), o.gpu_memory_utilization)});
  subtract(budget, "weights", weight_bytes_per_gpu(spec, o.tensor_parallel_size),
           fmt::format("{} parameters in {} over {} GPU(s)", parameter_count(spec), name_of(spec.dtype),
                       o.tensor_parallel_size));
  const bool given = o.overheads.has_value();
  const MemoryOverheads overheads =
      given ? *o.overheads : vllm_overheads(spec, o.tensor_parallel_size, o.max_num_batched_tokens);
  const auto formula = [&](const char* rule) {
    return given ? std::string("given") : fmt::format("{}; {}", rule, kVllmOverheads);
  };
  subtract(budget, "activation peak", overheads.activation_peak,
           formula("5.5e-6 GiB x vocab_size + 3.6e-5 GiB x batched tokens above 2048"));
  subtract(budget, "non-torch", overheads.non_torch, formula("0.45 GiB if tp > 1"));
  subtract(budget, "CUDA graphs", overheads.cuda_graphs, formula("0.25 GiB, the context included"));
}

}  // namespace

MemoryOverheads vllm_overheads(const ModelSpec& spec, std::int64_t tp, Tokens max_num_batched_tokens) {
  const double tokens_above = static_cast<double>(std::max<std::int64_t>(0, max_num_batched_tokens.count() - 2048));
  return {gib(5.5e-6 * static_cast<double>(spec.vocab_size) + 3.6e-5 * tokens_above), gib(tp > 1 ? 0.45 : 0),
          gib(0.25)};
}

MemoryBudget compute_budget(const ModelSpec& spec, const GpuSpec& gpu, const BudgetOptions& o) {
  CHECK_LAW(o.block_size.count() > 0, "block_size {}", o.block_size.count());
  MemoryBudget budget;
  budget.bytes_per_token = kv_bytes_per_token(kv_geometry(spec), o.tensor_parallel_size, o.kv_dtype);
  const Bytes block_bytes = budget.bytes_per_token * o.block_size.count();

  if (const Blocks* blocks = std::get_if<Blocks>(&o.request)) {
    budget.lines.push_back(
        {"KV cache as given", block_bytes * blocks->count(), fmt::format("{} blocks", blocks->count())});
  } else if (const Tokens* tokens = std::get_if<Tokens>(&o.request)) {
    const std::int64_t whole = tokens->count() / o.block_size.count();
    budget.lines.push_back(
        {"KV cache as given", block_bytes * whole,
         fmt::format("{} tokens: {} whole blocks of {}", tokens->count(), whole, o.block_size.count())});
  } else if (const Bytes* bytes = std::get_if<Bytes>(&o.request)) {
    budget.lines.push_back({"KV cache as given", *bytes, "bytes of one GPU"});
  } else {
    budget_from_gpu_memory(budget, spec, gpu, o);
  }

  for (const BudgetLine& line : budget.lines) budget.kv_bytes += line.bytes;
  budget.blocks = Blocks(std::max<std::int64_t>(0, budget.kv_bytes.count() / block_bytes.count()));
  budget.tokens = Tokens(budget.blocks.count() * o.block_size.count());
  return budget;
}

}  // namespace blockyard::model
