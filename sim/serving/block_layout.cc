#include "sim/serving/block_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace blockyard::serving {
namespace {

using model::LayerKind;

// What `pieces` of a group's tables count, in bytes: of a row, a block in each of its tables, what its layers use.
// Where a token's bytes are no whole number, the rest is padding.
std::int64_t counted_bytes(const model::PageGroup& group, Bytes block) {
  const std::int64_t used = std::min<std::int64_t>(
      std::llround(static_cast<double>(group.layers) * group.used_page_bytes), group.groups * block.count());
  return group.kind == LayerKind::recurrent ? used : used / group.block.count();
}

// Where layers are dealt to the tables of a group one by one, some tables may have one layer less: they are a row of
// their own, if tables are to be told apart.
std::vector<model::PageGroup> rows_of(const model::PageGroup& group, bool apart) {
  const std::int64_t longer = group.layers % group.groups;
  if (!apart || longer == 0) return {group};
  model::PageGroup more = group;
  more.groups = longer;
  more.layers = longer * (group.layers / group.groups + 1);
  model::PageGroup less = group;
  less.groups -= longer;
  less.layers -= more.layers;
  return {more, less};
}

// `apart`: every table of a row uses equally many pieces.
void add_tables(BlockLayout& made, bool apart) {
  const Bytes block = made.layout.block_bytes;
  std::int64_t piece = block.count();
  for (const model::PageGroup& group : made.layout.groups) {
    const Tokens tokens = group.kind == LayerKind::recurrent ? Tokens(0) : group.block;
    for (const model::PageGroup& row : rows_of(group, apart)) {
      std::int64_t bytes = counted_bytes(row, block);
      if (apart) bytes -= bytes % row.groups;
      made.tables.push_back({row.window, row.groups, tokens, bytes});
      piece = std::gcd(piece, apart ? bytes / row.groups : bytes);
    }
  }
  for (kv::BlockTables& tables : made.tables) tables.pieces /= piece;
  made.piece_bytes = Bytes(piece);
}

bool has_names(const model::KvLayout& layout) {
  return std::ranges::all_of(layout.groups, [&](const model::PageGroup& group) {
    return group.kind != LayerKind::recurrent && group.block == layout.groups.front().block;
  });
}

bool forgets(const model::KvLayout& layout, Tokens max_model_len) {
  return std::ranges::any_of(layout.groups, [&](const model::PageGroup& group) {
    return group.kind == LayerKind::sliding_window && group.window < max_model_len;
  });
}

bool has_state(const model::KvLayout& layout) {
  return std::ranges::any_of(layout.groups,
                             [](const model::PageGroup& group) { return group.kind == LayerKind::recurrent; });
}

std::string kind_of(const model::PageGroup& group) {
  switch (group.kind) {
    case LayerKind::sliding_window:
      return fmt::format("{} for windows of {}", group.groups, group.window.count());
    case LayerKind::recurrent:
      return fmt::format("{} for recurrent state", group.groups);
    case LayerKind::full_attention:
    case LayerKind::chunked_attention:
      break;
  }
  return fmt::format("{} for full attention", group.groups);
}

}  // namespace

BlockLayout block_layout(const model::ModelSpec& spec, const model::Stage& stage, const model::LayoutOptions& options,
                         Tokens max_model_len, TableUse use) {
  BlockLayout made;
  made.options = options;
  made.layout = model::kv_layout(spec, stage, options);
  made.block_size = options.block_size;
  if (use == TableUse::one || (use == TableUse::named && !has_names(made.layout))) {
    if (forgets(made.layout, max_model_len)) {
      made.notes.emplace_back(
          "tokens that fall out of a sliding window are held: only paged memory frees them, without an eviction "
          "policy, rules or tiers of the prefix cache, several samples a request, swaps, tail_blocks or vllm-v0");
    }
    if (has_state(made.layout)) {
      made.notes.emplace_back(
          "recurrent state takes no KV memory in this run: only paged memory counts it, without a prefix cache, "
          "several samples a request, swaps, tail_blocks or vllm-v0");
    }
    return made;
  }
  if (made.layout.full_for_windows) {
    made.notes.emplace_back("layers with a sliding window or chunks keep every token, without the hybrid manager");
  }
  if (!made.layout.hybrid() && !forgets(made.layout, max_model_len)) return made;
  made.block_size = made.layout.block_size;
  made.block_bytes = made.layout.block_bytes;
  add_tables(made, use == TableUse::named);
  return made;
}

std::string describe(const BlockLayout& made, Blocks pool, Tokens max_model_len) {
  if (made.tables.empty()) return "";
  std::vector<std::string> kinds;
  kinds.reserve(made.layout.groups.size());
  for (const model::PageGroup& group : made.layout.groups) kinds.push_back(kind_of(group));
  const Blocks each = model::blocks_of_sequence(made.layout, made.options, max_model_len);
  return fmt::format(
      "block tables of a sequence: {}; {} blocks of {} B on each GPU, {:.1f} % of a block unused by any layer; maximum "
      "concurrency for {} tokens a request: {:.2f} ({} blocks each)",
      fmt::join(kinds, ", "), pool.count(), made.block_bytes->count(), 100 * made.layout.padding_share(),
      max_model_len.count(), static_cast<double>(pool.count()) / static_cast<double>(each.count()), each.count());
}

}  // namespace blockyard::serving
