#include "sim/model/kv_layout.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"

namespace blockyard::model {
namespace {

constexpr std::int64_t kAlignment = 16;       // attention kernels take blocks of a multiple of so many tokens
constexpr double kNearlyAsMany = 1.25;        // kinds of layers so alike in number make groups of the larger one
constexpr std::int64_t kLongest = 1LL << 40;  // tokens; beyond any sequence

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Layers of a stage that keep alike.
struct Kept {
  LayerKind kind = LayerKind::full_attention;
  std::int64_t layers = 0;
  double token_bytes = 0;
  double state_bytes = 0;
  Tokens window;
};

// A short convolution's past is kept in the model's own format.
Bytes engine_state_bytes(const LayerGroup& group, std::int64_t tp, ElementType own) {
  LayerGroup kept = group;
  if (!group.attends()) kept.state.conv_type = own;
  return state_bytes(kept, tp);
}

std::vector<Kept> kept_layers(const ModelSpec& spec, const Stage& stage, const LayoutOptions& o,
                              bool windows_are_full) {
  std::vector<Kept> all;
  const auto put = [&](const Kept& kept) {
    if (kept.layers == 0 || kept.token_bytes + kept.state_bytes == 0) return;
    for (Kept& other : all) {
      if (other.kind != kept.kind || other.window != kept.window || other.token_bytes != kept.token_bytes ||
          other.state_bytes != kept.state_bytes) {
        continue;
      }
      other.layers += kept.layers;
      return;
    }
    all.push_back(kept);
  };
  KvSplit split = o.split;
  split.dcp = 1;  // dealt out by the number of tokens a block stands for
  for (const LayerGroup& group : layer_groups(spec)) {
    Kept kept;
    kept.kind = windows_are_full && group.attends() ? LayerKind::full_attention : group.kind;
    if (kept.kind == LayerKind::sliding_window || kept.kind == LayerKind::chunked_attention) kept.window = group.window;
    kept.layers = std::count_if(group.where.begin(), group.where.end(),
                                [&](std::int32_t n) { return n >= stage.first && n < stage.last; });
    kept.token_bytes = token_bytes(group, split);
    kept.state_bytes = static_cast<double>(engine_state_bytes(group, split.tp, spec.dtype).count());
    put(kept);
  }
  if (o.draft_layers > 0 && stage.samples) {
    Kept drafter;
    for (const Kept& kept : all) {
      if (kept.kind == LayerKind::recurrent) continue;
      if (drafter.token_bytes == 0 || kept.kind == LayerKind::full_attention) drafter = kept;
      if (kept.kind == LayerKind::full_attention) break;
    }
    drafter.layers = drafter.token_bytes > 0 ? o.draft_layers : 0;
    put(drafter);
  }
  return all;
}

PageGroup page_group(const Kept& kept, Tokens block, const LayoutOptions& o) {
  PageGroup group;
  group.kind = kept.kind;
  group.layers = kept.layers;
  group.groups = 1;
  group.block = block * o.split.dcp;
  group.window = kept.window;
  group.used_page_bytes = kept.token_bytes * static_cast<double>(block.count()) + kept.state_bytes;
  return group;
}

// All layers keep the same kind of past: one group, whatever each takes.
KvLayout one_group(const std::vector<Kept>& all, const LayoutOptions& o) {
  KvLayout layout;
  Kept sum = all.front();
  sum.layers = 0;
  double bytes = 0;
  for (const Kept& kept : all) {
    sum.layers += kept.layers;
    bytes += static_cast<double>(kept.layers) *
             (kept.token_bytes * static_cast<double>(o.block_size.count()) + kept.state_bytes);
  }
  PageGroup group = page_group(sum, o.block_size, o);
  group.used_page_bytes = bytes / static_cast<double>(sum.layers);
  layout.groups = {group};
  layout.layers_per_group = sum.layers;
  layout.block_bytes = Bytes(std::llround(bytes));
  layout.page_bytes = Bytes(std::llround(group.used_page_bytes));
  layout.block_size = group.block;
  return layout;
}

KvLayout many_groups(const std::vector<Kept>& all, const LayoutOptions& o) {
  double widest = 0;  // bytes a token, of any attention layer
  double state = 0;
  for (const Kept& kept : all) {
    if (kept.kind == LayerKind::recurrent) {
      state = std::max(state, kept.state_bytes);
    } else {
      widest = std::max(widest, kept.token_bytes);
    }
  }
  std::int64_t block = o.block_size.count();
  if (widest > 0 && state > 0) {
    const auto steps = static_cast<std::int64_t>(std::ceil(state / (static_cast<double>(kAlignment) * widest)));
    block = std::max(block, kAlignment * steps);
  }
  const double page = std::max(widest * static_cast<double>(block), widest > 0 ? 0 : state);
  KvLayout layout;
  layout.page_bytes = Bytes(std::llround(page));
  layout.block_size = Tokens(block * o.split.dcp);
  for (const Kept& kept : all) {
    std::int64_t tokens = block;
    if (kept.kind != LayerKind::recurrent) {
      const double narrow = kept.token_bytes * static_cast<double>(block);
      tokens *= std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(page / narrow + 1e-9)));
    }
    layout.groups.push_back(page_group(kept, Tokens(tokens), o));
    if (kept.kind == LayerKind::full_attention) layout.block_size = layout.groups.back().block;
  }
  std::int64_t fewest = layout.groups.front().layers;
  std::int64_t most = fewest;
  for (const PageGroup& group : layout.groups) {
    fewest = std::min(fewest, group.layers);
    most = std::max(most, group.layers);
  }
  layout.layers_per_group = static_cast<double>(most) < kNearlyAsMany * static_cast<double>(fewest) ? most : fewest;
  for (PageGroup& group : layout.groups) group.groups = ceil_div(group.layers, layout.layers_per_group);
  layout.block_bytes = layout.page_bytes * layout.layers_per_group;
  return layout;
}

std::int64_t pages(const PageGroup& group, const LayoutOptions& o, std::int64_t tokens) {
  const std::int64_t in_step = o.max_num_batched_tokens.count();
  switch (group.kind) {
    case LayerKind::full_attention:
      return ceil_div(tokens, group.block.count());
    case LayerKind::sliding_window:
      return ceil_div(std::min(tokens, group.window.count() - 1 + in_step), group.block.count()) + 1;
    case LayerKind::chunked_attention:
      return ceil_div(std::min(tokens, group.window.count() + in_step), group.block.count());
    case LayerKind::recurrent:
      return 1 + o.speculative_tokens;
  }
  return 0;
}

}  // namespace

double KvLayout::padding_share() const {
  double used = 0;
  double all = 0;
  for (const PageGroup& group : groups) {
    used += static_cast<double>(group.layers) * group.used_page_bytes;
    all += static_cast<double>(group.groups) * static_cast<double>(block_bytes.count());
  }
  return all > 0 ? std::max(0.0, 1 - used / all) : 0;
}

Bytes KvLayout::row_bytes() const {
  double bytes = 0;
  for (const PageGroup& group : groups) {
    if (group.kind == LayerKind::recurrent) continue;
    const double blocks = static_cast<double>(block_size.count()) / static_cast<double>(group.block.count());
    bytes += static_cast<double>(group.layers) * group.used_page_bytes * blocks;
  }
  return Bytes(std::llround(bytes));
}

KvLayout kv_layout(const ModelSpec& spec, const Stage& stage, const LayoutOptions& o) {
  CHECK_LAW(o.block_size.count() > 0, "block_size {}", o.block_size.count());
  const std::vector<LayerGroup> groups = layer_groups(spec);
  const auto is = [&](LayerKind kind) {
    return std::any_of(groups.begin(), groups.end(), [&](const LayerGroup& g) { return g.kind == kind; });
  };
  // Layers that are all windowed stay so: there is nothing to manage apart.
  const bool mixed = is(LayerKind::full_attention) || is(LayerKind::recurrent);
  const bool windows_are_full = is(LayerKind::chunked_attention) || (!o.hybrid_manager && mixed);
  const std::vector<Kept> all = kept_layers(spec, stage, o, windows_are_full);
  KvLayout layout;
  if (all.empty()) return layout;
  const bool alike = std::all_of(all.begin(), all.end(), [&](const Kept& kept) {
    return kept.kind == all.front().kind && kept.window == all.front().window;
  });
  layout = alike ? one_group(all, o) : many_groups(all, o);
  layout.full_for_windows = windows_are_full && (is(LayerKind::sliding_window) || is(LayerKind::chunked_attention));
  return layout;
}

Blocks blocks_of_sequence(const KvLayout& layout, const LayoutOptions& options, Tokens tokens) {
  std::int64_t blocks = 0;
  for (const PageGroup& group : layout.groups) blocks += group.groups * pages(group, options, tokens.count());
  return Blocks(blocks);
}

std::optional<Tokens> longest_sequence(const KvLayout& layout, const LayoutOptions& options, Blocks blocks) {
  if (blocks_of_sequence(layout, options, Tokens(kLongest)) <= blocks) return std::nullopt;
  std::int64_t fits = 0;
  std::int64_t fails = kLongest;
  while (fails - fits > 1) {
    const std::int64_t middle = fits + (fails - fits) / 2;
    (blocks_of_sequence(layout, options, Tokens(middle)) <= blocks ? fits : fails) = middle;
  }
  return Tokens(fits);
}

}  // namespace blockyard::model
