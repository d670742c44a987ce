// Families from before Llama: LayerNorm, biases, two matrices an MLP, as many KV heads as heads, or one.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "sim/model/families/families.h"
#include "sim/model/families/parts.h"

namespace blockyard::model {
namespace {

std::vector<std::int32_t> every_layer(const ModelSpec& spec) { return all_layers(spec.num_hidden_layers); }

}  // namespace

void compile_classic(HfFields& fields, const Architecture& self, ModelSpec& spec) {
  const std::string name = self.name;
  read_sizes(fields, spec);
  const bool opt = name == "OPTForCausalLM";
  const bool gpt2 = name == "GPT2LMHeadModel";
  const bool bigcode = name == "GPTBigCodeForCausalLM";
  const bool neox = name == "GPTNeoXForCausalLM";
  const bool gptj = name == "GPTJForCausalLM";
  const bool bloom = name == "BloomForCausalLM";
  const bool mpt = name == "MPTForCausalLM" || name == "MptForCausalLM";
  const bool phi = name == "PhiForCausalLM";
  const bool starcoder2 = name == "Starcoder2ForCausalLM";
  const bool nemotron = name == "NemotronForCausalLM";

  AttentionShape shape = read_attention(fields, spec);
  if (bigcode && fields.boolean("multi_query", true)) shape.kv_heads = 1;
  if (mpt) {
    if (std::optional<HfFields> attention = fields.object("attn_config")) {
      shape.kv_heads = attention->integer("kv_n_heads", shape.query_heads);
      if (attention->text("attn_type").value_or("") == "multiquery_attention") shape.kv_heads = 1;
    }
  }
  bool bias = !gptj && !nemotron;
  if (opt) bias = fields.boolean("enable_bias", true);
  if (starcoder2) bias = fields.boolean("use_bias", true);
  if (nemotron) bias = fields.boolean("attention_bias", false);
  if (mpt) bias = !fields.boolean("no_bias", true);
  if (neox) bias = fields.boolean("attention_bias", true);
  shape.bias = shape.output_bias = bias;
  const bool mlp_bias = gptj || neox || (nemotron ? fields.boolean("mlp_bias", false) : bias);
  spec.norm_bias = opt ? fields.boolean("layer_norm_elementwise_affine", true) : (!mpt || bias);

  std::int64_t intermediate = 4 * spec.hidden_size;
  if (mpt && fields.has("expansion_ratio")) intermediate = spec.hidden_size * fields.integer("expansion_ratio");
  intermediate = fields.integer({"ffn_dim", "intermediate_size", "n_inner"}, intermediate);
  if (opt && !fields.has("ffn_dim")) (void)fields.integer("ffn_dim");

  LayerGroup layer = attention_group(spec, shape, every_layer(spec));
  add_norms(spec, layer, phi || gptj ? 1 : 2);
  const std::int64_t window = starcoder2 ? fields.integer("sliding_window", 0) : 0;
  spec.layers = {window > 0 ? windowed(layer, LayerKind::sliding_window, window) : layer};
  spec.sliding_window = window;
  spec.mlps = {mlp_group(spec, intermediate, false, mlp_bias, every_layer(spec))};
  spec.gated_mlp = false;
  spec.attention_bias = spec.attention_output_bias = bias;
  spec.mlp_bias = mlp_bias;
  if (opt) spec.learned_position_embeddings = spec.max_position_embeddings + 2;
  if (gpt2 || bigcode) spec.learned_position_embeddings = spec.max_position_embeddings;
  if (bloom) spec.other_embedding_elements = 2 * spec.hidden_size;   // a norm behind the embedding
  if (phi || gptj) spec.other_embedding_elements = spec.vocab_size;  // a bias of the output head
  if (opt && fields.integer("word_embed_proj_dim", spec.hidden_size) != spec.hidden_size) {
    fields.complain("word_embed_proj_dim",
                    "word_embed_proj_dim: differs from hidden_size: the weights of such a "
                    "projection are missing here");
  }
  const bool tied = opt || gpt2 || bigcode || bloom || mpt || starcoder2;
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", tied);
}

// One KV head with multi_query, unless the new decoder architecture names a number.
void compile_falcon(HfFields& fields, const Architecture&, ModelSpec& spec) {
  spec.max_position_embeddings = fields.integer("max_position_embeddings", 2048);
  spec.num_hidden_layers = fields.integer({"num_hidden_layers", "n_layer"});
  spec.hidden_size = fields.integer({"hidden_size", "n_embed"});
  spec.vocab_size = fields.integer("vocab_size");
  AttentionShape shape;
  shape.query_heads = fields.integer({"num_attention_heads", "n_head"});
  shape.d_k = shape.d_v = std::max<std::int64_t>(1, spec.hidden_size / shape.query_heads);
  if (spec.hidden_size % shape.query_heads != 0) {
    fields.complain("num_attention_heads", fmt::format("num_attention_heads: {} does not divide hidden_size {}",
                                                       shape.query_heads, spec.hidden_size));
  }
  const bool fresh = fields.boolean("new_decoder_architecture", false);
  shape.kv_heads = shape.query_heads;
  if (fresh) {
    shape.kv_heads = fields.integer({"num_kv_heads", "n_head_kv"}, shape.query_heads);
  } else if (fields.boolean("multi_query", true)) {
    shape.kv_heads = 1;
  }
  shape.bias = shape.output_bias = fields.boolean("bias", false);
  spec.norm_bias = true;
  LayerGroup layer = attention_group(spec, shape, every_layer(spec));
  const bool parallel = fields.boolean("parallel_attn", true);
  add_norms(spec, layer, fresh || !parallel ? 2 : 1);
  spec.layers = {layer};
  spec.mlps = {
      mlp_group(spec, fields.integer("ffn_hidden_size", 4 * spec.hidden_size), false, shape.bias, every_layer(spec))};
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", true);
}

void compile_chatglm(HfFields& fields, const Architecture&, ModelSpec& spec) {
  read_sizes(fields, spec);
  AttentionShape shape;
  shape.query_heads = fields.integer("num_attention_heads");
  const bool grouped = fields.boolean("multi_query_attention", false);
  shape.kv_heads = grouped ? fields.integer("multi_query_group_num") : shape.query_heads;
  shape.d_k = shape.d_v =
      fields.integer("kv_channels", std::max<std::int64_t>(1, spec.hidden_size / shape.query_heads));
  shape.bias = fields.boolean("add_qkv_bias", false) || fields.boolean("add_bias_linear", false);
  shape.output_bias = fields.boolean("add_bias_linear", false);
  LayerGroup layer = attention_group(spec, shape, every_layer(spec));
  add_norms(spec, layer, 2);
  spec.layers = {layer};
  spec.mlps = {mlp_group(spec, fields.integer("ffn_hidden_size"), true, shape.output_bias, every_layer(spec))};
  spec.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
}

}  // namespace blockyard::model
