// How an engine lays a model's KV out in pages (vLLM, V1). Layers alike form page groups of equal size; a block id
// stands for one page in each layer of one group, so all pages have to be of one size:
//
//   one kind of layer    one group of all layers; block_bytes = block_size x the layers' bytes a token
//   several kinds        pages are made equal (a layer with few bytes a token gets more tokens a page; where recurrent
//                        state is larger than attention's page, attention's block grows to hold it, in steps of 16;
//                        what does not divide is padded); the kinds are cut into groups of g layers, g the rarest
//                        kind's number (the commonest one's if that is below 1.25 times as much); block_bytes = g x
//                        page
//   without the hybrid   windowed and chunked layers count as full ones; chunked ones always do
//   manager
//
// Blocks that a sequence of n tokens takes, summed over groups: full ceil(n / b); window ceil(min(n, w - 1 + c) / b) +
// 1, c the tokens of a step; recurrent 1 + speculative tokens. Padding of pages and of groups is the layout's waste.
// Cost: O(groups). Source: vLLM v1/core/kv_cache_utils.py and v1/kv_cache_interface.py.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/quantities.h"
#include "sim/model/kv_geometry.h"
#include "sim/model/weights.h"

namespace blockyard::model {

struct LayoutOptions {
  KvSplit split;
  Tokens block_size{16};
  Tokens max_num_batched_tokens{2048};
  bool hybrid_manager = true;
  std::int64_t draft_layers = 0;  // of a drafter, kept beside the model's like its full attention layers
  std::int64_t speculative_tokens = 0;
};

struct PageGroup {
  LayerKind kind = LayerKind::full_attention;
  std::int64_t layers = 0;
  std::int64_t groups = 0;  // block ids a page's worth of tokens takes
  Tokens block;             // tokens a page, of the whole replica
  Tokens window;
  double used_page_bytes = 0;  // of one layer, without padding
};

struct KvLayout {
  std::vector<PageGroup> groups;
  std::int64_t layers_per_group = 0;
  Bytes page_bytes;               // of one layer; the mean where one group's layers differ
  Bytes block_bytes;              // of one rank
  Tokens block_size;              // of full attention, or of the only group
  bool full_for_windows = false;  // windowed layers count as full ones

  [[nodiscard]] bool hybrid() const { return groups.size() > 1; }
  [[nodiscard]] double padding_share() const;  // of a block that no layer uses
  [[nodiscard]] Bytes row_bytes() const;       // of block_size tokens in every layer that keeps tokens, without padding
};

// Of the layers of one stage. A model that keeps nothing a token has no layout: no groups, block_bytes 0.
[[nodiscard]] KvLayout kv_layout(const ModelSpec& spec, const Stage& stage, const LayoutOptions& options);

[[nodiscard]] Blocks blocks_of_sequence(const KvLayout& layout, const LayoutOptions& options, Tokens tokens);

// The longest sequence that `blocks` hold; nothing if they hold any.
[[nodiscard]] std::optional<Tokens> longest_sequence(const KvLayout& layout, const LayoutOptions& options,
                                                     Blocks blocks);

}  // namespace blockyard::model
