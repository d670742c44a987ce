// Nemotron-NAS (DeciLM): block_configs says of each layer whether it attends, with how many heads a group, and how wide
// its MLP is.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "sim/model/families/families.h"
#include "sim/model/families/parts.h"

namespace blockyard::model {
namespace {

// As the architecture rounds: 2/3 of 4 x hidden x mult, up to a multiple of 256.
std::int64_t mlp_width(double mult, std::int64_t hidden) {
  const auto width = static_cast<std::int64_t>(2 * mult * static_cast<double>(hidden) / 3);
  return (width + 255) / 256 * 256;
}

}  // namespace

void compile_nas(HfFields& fields, const Architecture&, ModelSpec& spec) {
  read_sizes(fields, spec);
  AttentionShape shape;
  shape.query_heads = fields.integer("num_attention_heads");
  shape.d_k = shape.d_v = fields.integer("head_dim", std::max<std::int64_t>(1, spec.hidden_size / shape.query_heads));
  std::map<std::int64_t, std::vector<std::int32_t>> attending;  // by heads in a group
  std::map<std::int64_t, std::vector<std::int32_t>> mlps;       // by width
  std::vector<HfFields> blocks = fields.objects("block_configs");
  if (static_cast<std::int64_t>(blocks.size()) != spec.num_hidden_layers) {
    fields.complain("block_configs", fmt::format("block_configs: found {} entries, expected one for each of the {} "
                                                 "layers",
                                                 blocks.size(), spec.num_hidden_layers));
    return;
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto layer = static_cast<std::int32_t>(i);
    std::optional<HfFields> attention = blocks[i].object("attention");
    std::optional<HfFields> mlp = blocks[i].object("ffn");
    if (!attention || !mlp) {
      fields.complain("block_configs", fmt::format("block_configs: layer {} lacks attention or ffn", i));
      return;
    }
    if (attention->boolean("replace_with_linear", false) || mlp->boolean("replace_with_linear", false)) {
      spec.not_counted.emplace_back("linear layers in place of attention or MLP");
    } else if (!attention->boolean("no_op", false)) {
      attending[attention->integer("n_heads_in_group")].push_back(layer);
    }
    if (mlp->boolean("replace_with_linear", false) || mlp->boolean("no_op", false)) continue;
    const std::int64_t width = mlp->has("intermediate_size") ? mlp->integer("intermediate_size")
                                                             : mlp_width(mlp->real("ffn_mult", 1), spec.hidden_size);
    mlps[width].push_back(layer);
  }
  for (const auto& [heads, where] : attending) {
    if (heads == 0 || shape.query_heads % heads != 0) {
      fields.complain("n_heads_in_group", fmt::format("n_heads_in_group: {} does not divide num_attention_heads {}",
                                                      heads, shape.query_heads));
      return;
    }
    shape.kv_heads = shape.query_heads / heads;
    LayerGroup group = attention_group(spec, shape, where);
    add_norms(spec, group, 1);
    spec.layers.push_back(group);
  }
  for (const auto& [width, where] : mlps) {
    MlpGroup group = mlp_group(spec, width, true, false, where);
    group.weights.replicated += spec.hidden_size;  // its norm
    spec.mlps.push_back(group);
  }
  if (spec.layers.empty()) fields.complain("block_configs", "block_configs: no layer attends");
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
}

}  // namespace blockyard::model
