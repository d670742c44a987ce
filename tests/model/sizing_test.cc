#include "sim/model/sizing.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "sim/model/hf_config.h"
#include "tests/model/published_models.h"

using namespace blockyard;
using namespace blockyard::model;

namespace {

constexpr std::int64_t kGiB = 1LL << 30;

GpuSpec h100() {
  GpuSpec gpu;
  gpu.name = "h100";
  gpu.memory_bytes = Bytes(static_cast<std::int64_t>(79.19 * static_cast<double>(kGiB)));
  return gpu;
}

SizeOptions limited(std::int64_t max_model_len) {
  SizeOptions o;
  o.max_model_len = Tokens(max_model_len);
  return o;
}

Sizing sized(const ModelSpec& spec, std::int64_t gib, SizeOptions o = {}) {
  o.request = Bytes(gib * kGiB);
  return size_of(spec, h100(), o);
}

std::size_t faults(const ModelSpec& spec, const SizeOptions& o) {
  Diagnostics wrong;
  check(spec, o, {}, wrong);
  return wrong.list().size();
}

// Layers of the given kinds, each with the same shape.
ModelSpec mixed(std::int64_t full, std::int64_t windowed, std::int64_t window) {
  ModelSpec m = llama_3_8b();
  m.num_hidden_layers = full + windowed;
  LayerGroup group = layer_groups(m).front();
  group.where = all_layers(full);
  m.layers = {group};
  group.kind = LayerKind::sliding_window;
  group.window = Tokens(window);
  group.where.clear();
  for (std::int64_t i = full; i < full + windowed; ++i) group.where.push_back(static_cast<std::int32_t>(i));
  m.layers.push_back(group);
  return m;
}

}  // namespace

TEST_CASE("the worked examples of the field") {
  const Sizing llama = sized(llama_3_8b(), 60, limited(8192));
  CHECK(llama.bytes_per_token == Bytes(131'072));
  CHECK(llama.needed_bytes == Bytes(kGiB));  // 1.0 GiB at 8,192
  CHECK(sized(llama_3_8b(), 60, limited(131'072)).needed_bytes == Bytes(16 * kGiB));
  CHECK(llama.kv_blocks == Blocks(30'720));
  CHECK(llama.kv_tokens == Tokens(491'520));
  CHECK(llama.by_arithmetic(Tokens(8192)) == 60);
  CHECK(llama.by_arithmetic(Tokens(2048)) == 240);
  CHECK(static_cast<int>(llama.by_arithmetic(Tokens(131'072))) == 3);
  CHECK(llama.by_engine(Tokens(8192)) == 59);  // one block is the null block
  CHECK(llama.by_engine(Tokens(1'500)) == 30'719 / 94);
  CHECK(llama.max_concurrency == 60);

  CHECK(sized(llama_2_7b(), 60).bytes_per_token == Bytes(512 * 1024));
  const Sizing seventy = sized(llama_3_70b(), 60, limited(8192));
  CHECK(seventy.bytes_per_token == Bytes(327'680));
  CHECK(seventy.needed_bytes == Bytes(5 * kGiB / 2));
  ModelSpec all_heads = llama_3_70b();
  all_heads.num_key_value_heads = 64;
  CHECK(sized(all_heads, 60, limited(8192)).needed_bytes == Bytes(20 * kGiB));
  SizeOptions slots;
  slots.block_size = Tokens(1);
  const Sizing opt = sized(opt_13b(), 12, slots);
  CHECK(opt.bytes_per_token == Bytes(819'200));
  CHECK(opt.kv_tokens == Tokens(15'728));
}

TEST_CASE("the largest max_model_len fits, and a block more does not") {
  REQUIRE(rc::check([] {
    const ModelSpec spec = *rc::gen::element(llama_3_8b(), qwen2_5_7b(), mixed(4, 20, 512), mixed(3, 5, 4096));
    SizeOptions o;
    o.tp = *rc::gen::element<std::int64_t>(1, 2, 4);
    o.block_size = Tokens(*rc::gen::element<std::int64_t>(1, 16, 128));
    o.max_num_batched_tokens = Tokens(*rc::gen::inRange<std::int64_t>(1, 16'384));
    o.hybrid_manager = *rc::gen::arbitrary<bool>();
    o.request = Bytes(*rc::gen::inRange<std::int64_t>(1, 80) * kGiB / 4);
    const Sizing s = size_of(spec, {}, o);
    RC_ASSERT(s.largest_max_model_len.has_value());
    const Tokens largest = *s.largest_max_model_len;
    o.max_model_len = largest;
    RC_ASSERT(largest == Tokens(0) || size_of(spec, {}, o).fits);
    o.max_model_len = largest + Tokens(1);
    const Sizing longer = size_of(spec, {}, o);
    RC_ASSERT(!longer.fits);
    RC_ASSERT(longer.needed_bytes > longer.kv_bytes);
    RC_ASSERT(s.bound().layout.block_bytes * s.kv_blocks.count() <= s.kv_bytes);
  }));
}

TEST_CASE("with the hybrid manager a long sequence takes no more blocks' bytes than without") {
  REQUIRE(rc::check([] {
    const std::int64_t full = *rc::gen::inRange<std::int64_t>(1, 10);
    const ModelSpec spec = mixed(full, full * *rc::gen::inRange<std::int64_t>(1, 6), 1024);
    SizeOptions o;
    o.max_num_batched_tokens = Tokens(2048);
    o.max_model_len = Tokens(*rc::gen::inRange<std::int64_t>(8192, 200'000));
    o.request = Bytes(kGiB);
    const Sizing with = size_of(spec, {}, o);
    o.hybrid_manager = false;
    const Sizing without = size_of(spec, {}, o);
    RC_ASSERT(with.needed_bytes < without.needed_bytes);
    RC_ASSERT(with.bytes_per_token == without.bytes_per_token);
  }));
}

// Gemma-4-31B on one H200: 50 layers with a window of 1,024 and 16 KV heads of 256, 10 full layers with 4 heads of 512.
// A full layer has half the bytes a token, so its pages hold 32 tokens: 262,144 B a page, 10 layers a group, 6 groups.
// A sequence of 262,144 tokens takes 8,192 + 5 (ceil((1,023 + 8,192) / 16) + 1) = 11,077 blocks. 64.68 GiB are 26,492
// blocks: 2.39 sequences, which the engine printed as 626,949 tokens.
TEST_CASE("pages of unlike layers are made equal") {
  const ModelSpec spec = model_from_hf_json(R"({"architectures": ["Gemma4ForCausalLM"], "dtype": "bfloat16",
      "hidden_size": 5376, "intermediate_size": 21504, "num_hidden_layers": 60, "num_attention_heads": 32,
      "num_key_value_heads": 16, "num_global_key_value_heads": 4, "head_dim": 256, "global_head_dim": 512,
      "attention_k_eq_v": true, "sliding_window": 1024, "vocab_size": 262144, "max_position_embeddings": 262144})",
                                            "gemma-4-31b");
  SizeOptions o;
  o.max_num_batched_tokens = Tokens(8192);
  o.request = Bytes(static_cast<std::int64_t>(64.68 * static_cast<double>(kGiB)));
  const Sizing s = size_of(spec, {}, o);
  CHECK(s.bound().layout.block_bytes == Bytes(2'621'440));
  CHECK(s.blocks_of(Tokens(262'144)) == Blocks(11'077));
  CHECK(s.kv_blocks == Blocks(26'492));
  CHECK(s.kv_tokens == Tokens(626'949));
  CHECK(s.bound().layout.padding_share() == Approx(0).margin(1e-12));
  // Up to 0.20 the engine printed blocks / groups x 16: 55 thousand tokens of 50 GiB, and 525 thousand from 0.21 on.
  o.engine = Engine::vllm_0_20;
  CHECK(size_of(spec, {}, o).kv_tokens == Tokens(26'492 / 6 * 16));
  o.hybrid_manager = false;
  CHECK(size_of(spec, {}, o).kv_tokens.count() == 26'492LL * 2'621'440 / (16 * 901'120) * 16);
}

// Qwen3.5-27B: a recurrent layer keeps 48 x 128 x 128 elements in 32 bits and 3 x 10,240 in 16: 3,207,168 B. At 4,096 B
// a token a layer of attention needs 783 tokens for as much: blocks of 784, as its engine's logs show.
TEST_CASE("attention's blocks grow to hold recurrent state") {
  const ModelSpec spec = model_from_hf_json(R"({"architectures": ["Qwen3_5ForCausalLM"], "dtype": "bfloat16",
      "hidden_size": 5120, "intermediate_size": 17408, "num_hidden_layers": 64, "num_attention_heads": 24,
      "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 248320, "max_position_embeddings": 262144,
      "full_attention_interval": 4, "linear_num_key_heads": 16, "linear_num_value_heads": 48,
      "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
      "mamba_ssm_dtype": "float32"})",
                                            "qwen3.5-27b");
  const Sizing s = sized(spec, 20);
  CHECK(s.bound().layout.block_size == Tokens(784));
  CHECK(s.bound().layout.layers_per_group == 16);
  CHECK(s.bound().layout.block_bytes == Bytes(16LL * 784 * 4096));
  CHECK(s.blocks_of(Tokens(1)) == Blocks(1 + 3));
  CHECK(s.blocks_of(Tokens(785)) == Blocks(2 + 3));
  CHECK(s.bound().layout.padding_share() > 0);
  CHECK(s.bound().layout.padding_share() < 0.01);
}

TEST_CASE("pipeline stages: the one with the fewest blocks binds") {
  SizeOptions o;
  o.pp = 4;
  const Sizing s = size_of(llama_3_8b(), h100(), o);
  REQUIRE(s.stages.size() == 4);
  for (const StageSize& stage : s.stages) {
    CHECK(stage.stage.layers() == 8);
    CHECK(stage.budget.blocks >= s.kv_blocks);
  }
  CHECK(s.bytes_per_token == Bytes(131'072 / 4));
  CHECK(s.bytes_per_token_of_replica == Bytes(131'072));
  // 30 layers over 4: the stages before the last, from its end, have one more.
  const std::vector<Stage> stages = pipeline_stages(30, 4);
  CHECK(stages[0].layers() == 7);
  CHECK(stages[1].layers() == 8);
  CHECK(stages[2].layers() == 8);
  CHECK(stages[3].layers() == 7);
}

TEST_CASE("latents are whole on every rank, and decode context parallelism deals their tokens out") {
  const ModelSpec spec = model_from_hf_json(R"({"architectures": ["DeepseekV2ForCausalLM"], "torch_dtype": "bfloat16",
      "hidden_size": 2048, "intermediate_size": 10944, "moe_intermediate_size": 1408, "num_hidden_layers": 27,
      "num_attention_heads": 16, "q_lora_rank": null, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
      "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 64, "n_shared_experts": 2,
      "num_experts_per_tok": 6, "first_k_dense_replace": 1, "vocab_size": 102400, "max_position_embeddings": 163840})",
                                            "deepseek-v2-lite");
  SizeOptions o;
  CHECK(sized(spec, 10, o).bytes_per_token == Bytes(31'104));
  o.tp = 8;
  const Sizing eight = sized(spec, 10, o);
  CHECK(eight.bytes_per_token == Bytes(31'104));
  o.dcp = 8;
  const Sizing dealt = sized(spec, 10, o);
  CHECK(dealt.bytes_per_token == Bytes(31'104 / 8));
  CHECK(dealt.kv_tokens == Tokens(eight.kv_tokens.count() * 8));
  CHECK(faults(spec, o) == 0);
  o.dcp = 3;
  CHECK(faults(spec, o) == 1);
  SizeOptions grouped;
  grouped.tp = 8;
  grouped.dcp = 2;
  CHECK(faults(llama_3_8b(), grouped) == 1);  // 8 KV heads on 8 GPUs: no two hold the same
  grouped.tp = 16;
  CHECK(faults(llama_3_8b(), grouped) == 0);
}

TEST_CASE("a refusal names what would make it fit, each tried") {
  SizeOptions o;
  o.max_model_len = Tokens(131'072);
  o.gpu_memory_utilization = 0.3;
  const Sizing s = size_of(llama_3_8b(), h100(), o);
  CHECK_FALSE(s.fits);
  CHECK(s.needed_bytes == Bytes(16 * kGiB));
  CHECK(s.largest_max_model_len->count() % 16 == 0);
  const std::vector<std::string> ways = remedies(s);
  REQUIRE(ways.size() == 3);
  CHECK(ways[0] == "a max_model_len of " + std::to_string(s.largest_max_model_len->count()) + " or less");
  CHECK(ways[1] == "gpu_memory_utilization 0.92");
  CHECK(ways[2] == "tensor_parallel_size 2");
  o.gpu_memory_utilization = 0.35;  // 11.8 GiB left: 8-bit KV needs 8, 8-bit weights leave 19
  const std::vector<std::string> more = remedies(size_of(llama_3_8b(), h100(), o));
  REQUIRE(more.size() == 5);
  CHECK(more[2] == "an fp8 KV cache (kv_cache_dtype fp8)");
  CHECK(more[3] == "weights quantised to 8 bits");
  o.gpu_memory_utilization = 0.9;
  const Sizing huge = size_of(llama_3_70b(), h100(), o);  // its weights alone are more than the GPU
  CHECK_FALSE(huge.fits);
  CHECK(huge.kv_bytes < Bytes(0));
  CHECK(huge.largest_max_model_len == Tokens(0));
  CHECK(remedies(huge).back() == "tensor_parallel_size 4");
}

TEST_CASE("a drafter's layers keep KV beside the model's") {
  SizeOptions o;
  o.draft_layers = 1;
  o.max_model_len = Tokens(131'072);
  const Sizing s = sized(llama_3_8b(), 33, o);
  CHECK(s.bound().layout.block_bytes == Bytes(16 * 33 * 4096));
}

TEST_CASE("weights that no rule gives have to be given") {
  ModelSpec m = llama_3_8b();
  m.weights_known = false;
  SizeOptions o;
  CHECK(faults(m, o) == 1);
  o.given.weights = Bytes(kGiB);
  CHECK(faults(m, o) == 0);
  o.given = {};
  o.request = Blocks(100);
  CHECK(faults(m, o) == 0);
}
