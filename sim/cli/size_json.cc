#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/cli/size_report.h"

namespace blockyard::cli {
namespace {

using model::Sizing;
using nlohmann::ordered_json;

ordered_json lines_json(const model::MemoryBudget& budget) {
  ordered_json lines = ordered_json::array();
  for (const model::BudgetLine& line : budget.lines) {
    lines.push_back(
        {{"name", line.name}, {"bytes", line.bytes.count()}, {"formula", line.formula}, {"source", line.source}});
  }
  return lines;
}

const char* kind_name(model::LayerKind kind) {
  switch (kind) {
    case model::LayerKind::full_attention:
      return "full_attention";
    case model::LayerKind::sliding_window:
      return "sliding_window";
    case model::LayerKind::chunked_attention:
      return "chunked_attention";
    case model::LayerKind::recurrent:
      return "recurrent";
  }
  return "";
}

ordered_json layers_json(const Sizing& s) {
  ordered_json layers = ordered_json::array();
  const model::KvSplit split{s.options.tp, s.options.dcp, s.kv_dtype};
  for (const model::LayerGroup& group : model::kv_geometry(s.model)) {
    layers.push_back({{"kind", kind_name(group.kind)},
                      {"layers", group.layers()},
                      {"kv_heads", group.kv_heads},
                      {"key_elements", group.d_k},
                      {"value_elements", group.d_v},
                      {"latent", group.latent},
                      {"shares_kv", group.shares_kv},
                      {"window_tokens", group.window.count()},
                      {"bytes_per_token_per_layer_per_gpu", token_bytes(group, split)},
                      {"fixed_bytes_per_layer_per_gpu", state_bytes(group, s.options.tp).count()}});
  }
  return layers;
}

ordered_json pages_json(const model::KvLayout& layout) {
  ordered_json groups = ordered_json::array();
  for (const model::PageGroup& group : layout.groups) {
    groups.push_back({{"kind", kind_name(group.kind)},
                      {"layers", group.layers},
                      {"groups", group.groups},
                      {"tokens_per_page", group.block.count()}});
  }
  return {{"page_bytes", layout.page_bytes.count()},
          {"layers_per_group", layout.layers_per_group},
          {"padding_share", layout.padding_share()},
          {"windows_count_as_full", layout.full_for_windows},
          {"groups", groups}};
}

ordered_json trace_json(const TraceFit& t) {
  return {{"file", t.file},
          {"requests", t.requests},
          {"mean_tokens", t.mean_tokens},
          {"longest_tokens", t.longest.count()},
          {"beyond_max_model_len", t.beyond_max_model_len},
          {"never_fit", t.never_fit},
          {"mean_blocks", t.mean_blocks},
          {"mean_blocks_in_flight", t.mean_blocks_in_flight},
          {"concurrency", t.concurrency},
          {"concurrency_in_flight", t.concurrency_in_flight}};
}

}  // namespace

ordered_json size_json(const Sizing& s, const std::vector<Tokens>& contexts, const std::optional<TraceFit>& trace) {
  ordered_json at = ordered_json::array();
  for (const Tokens length : contexts) {
    at.push_back({{"context_tokens", length.count()},
                  {"blocks", s.blocks_of(length).count()},
                  {"sequences_by_arithmetic", s.by_arithmetic(length)},
                  {"sequences", s.by_engine(length)}});
  }
  ordered_json json = {
      {"schema", "blockyard.size/1"},
      {"model", s.model.name},
      {"model_source", s.model.source},
      {"parameters", model::parameter_count(s.model)},
      {"active_parameters", model::active_parameter_count(s.model)},
      {"gpu", s.gpu.name},
      {"tensor_parallel_size", s.options.tp},
      {"pipeline_parallel_size", s.options.pp},
      {"data_parallel_size", s.options.dp},
      {"decode_context_parallel_size", s.options.dcp},
      {"gpu_memory_utilization", s.options.gpu_memory_utilization},
      {"kv_cache_dtype", name_of(s.kv_dtype)},
      {"max_model_len", s.max_model_len.count()},
      {"max_num_batched_tokens", s.options.max_num_batched_tokens.count()},
      {"max_num_seqs", s.options.max_num_seqs},
      {"overheads", s.options.overheads},
      {"memory_lines", lines_json(s.bound().budget)},
      {"weight_bytes_per_gpu",
       s.options.given.weights.value_or(weight_bytes_per_gpu(s.model, s.options.tp, s.bound().stage, s.options.dp))
           .count()},
      {"layers", layers_json(s)},
      {"bytes_per_token_per_gpu", s.bytes_per_token.count()},
      {"bytes_per_token_per_gpu_beyond_windows", s.bytes_per_token_beyond.count()},
      {"window_bytes_per_sequence", s.window_bytes.count()},
      {"bytes_per_token", s.bytes_per_token_of_replica.count()},
      {"fixed_bytes_per_sequence", s.fixed_bytes_per_sequence.count()},
      {"kv_bytes_per_gpu", s.kv_bytes.count()},
      {"kv_gib_per_gpu", in_gib(s.kv_bytes)},
      {"kv_bytes", s.kv_bytes_of_replica.count()},
      {"block_size", s.bound().layout.block_size.count()},
      {"block_bytes_per_gpu", s.bound().layout.block_bytes.count()},
      {"pages", pages_json(s.bound().layout)},
      {"kv_blocks", s.kv_blocks.count()},
      {"usable_kv_blocks", std::max<std::int64_t>(0, s.kv_blocks.count() - 1)},
      {"kv_tokens", s.kv_tokens.count()},
      {"max_concurrency", s.max_concurrency},
      {"fits", s.fits},
      {"needed_kv_bytes_per_gpu", s.needed_bytes.count()},
      {"needed_kv_gib_per_gpu", in_gib(s.needed_bytes)},
      {"largest_max_model_len",
       s.largest_max_model_len ? ordered_json(s.largest_max_model_len->count()) : ordered_json()},
      {"contexts", at}};
  if (trace) json["trace"] = trace_json(*trace);
  if (!s.fits) json["remedies"] = model::remedies(s);
  json["not_counted"] = s.model.not_counted;
  return json;
}

}  // namespace blockyard::cli
