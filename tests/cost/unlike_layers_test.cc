// Models whose layers differ, and checkpoints in fewer bits: closed forms on a GPU that is all peaks, so that a step is
// its FLOPs or its bytes alone.
#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "sim/cost/assumptions.h"
#include "sim/cost/attention_time.h"
#include "sim/cost/layer_time.h"
#include "sim/cost/roofline.h"
#include "sim/model/weights.h"
#include "tests/cost/calibrated_gpus.h"
#include "tests/model/published_models.h"

using namespace blockyard;
using namespace blockyard::cost;
using model::LayerGroup;
using model::LayerKind;
using model::ModelSpec;

namespace {

// A byte takes a second, computing nothing: times are bytes.
CalibratedGpu memory_alone() { return ideal(1e30, 1); }
// A FLOP takes a second: times are FLOPs.
CalibratedGpu compute_alone() { return ideal(1, 1e30); }

StepWork decodes(std::int64_t sequences, std::int64_t context) {
  StepWork work;
  work.decode_sequences = work.sampled_sequences = sequences;
  work.decode_kv_tokens = sequences * context;
  work.decode_longest = context;
  return work;
}

ModelSpec with_layers(std::vector<LayerGroup> layers, std::vector<model::MlpGroup> mlps) {
  ModelSpec m = model::llama_3_8b();
  m.layers = std::move(layers);
  m.mlps = std::move(mlps);
  return m;
}

std::vector<std::int32_t> every(std::int32_t step, std::int32_t first) {
  std::vector<std::int32_t> where;
  for (std::int32_t i = first; i < 32; i += step) where.push_back(i);
  return where;
}

// Llama-3-8B of whose layers every other looks back 1,024 tokens.
ModelSpec windowed() {
  LayerGroup full = layer_groups(model::llama_3_8b()).front();
  LayerGroup sliding = full;
  full.where = every(2, 0);
  sliding.where = every(2, 1);
  sliding.kind = LayerKind::sliding_window;
  sliding.window = Tokens(1024);
  return with_layers({full, sliding}, mlp_groups(model::llama_3_8b()));
}

AttentionTime attention_of(const ModelSpec& m, const CalibratedGpu& g) {
  return {m, g.gpu, g.calibration, 1, model::ElementType::bf16};
}

std::unique_ptr<CostModel> roofline_of(const ModelSpec& m, const CalibratedGpu& g) {
  RooflineOptions options;
  options.table_tokens = 0;
  options.largest_graph = 0;
  return make_roofline(m, g.gpu, g.calibration, options);
}

}  // namespace

TEST_CASE("layers written out one by one cost what the usual layer repeated costs, to the bit") {
  REQUIRE(rc::check([] {
    const ModelSpec usual = *rc::gen::element(model::llama_3_8b(), model::mixtral_8x7b(), model::opt_13b());
    ModelSpec written = usual;
    written.layers = layer_groups(usual);
    written.mlps = mlp_groups(usual);
    const CalibratedGpu g = *rc::gen::elementOf(all_gpus());
    StepWork work = decodes(*rc::gen::inRange(1, 200), *rc::gen::inRange(1, 5000));
    const auto plain = roofline_of(usual, g);
    plain->add_chunk(work, Tokens(*rc::gen::inRange(0, 3000)), Tokens(*rc::gen::inRange(0, 5000)));
    RC_ASSERT(plain->step(work) == roofline_of(written, g)->step(work));
  }));
}

// 4 sequences of 5,000 tokens: 16 layers read all of it, 16 read 1,024 a sequence; 4,096 B a token.
TEST_CASE("a decode reads no more than its window") {
  const double bytes = 4096.0 * (16 * 4 * 5000 + 16 * 4 * 1024);
  CHECK(attention_of(windowed(), memory_alone()).seconds(decodes(4, 5000)) == Approx(bytes));
  // Inside the window all read alike.
  CHECK(attention_of(windowed(), memory_alone()).seconds(decodes(4, 1000)) ==
        Approx(attention_of(model::llama_3_8b(), memory_alone()).seconds(decodes(4, 1000))));
}

// A chunk of 2,000 tokens from the start: the first 1,024 see what is before them, the others 1,024 each.
TEST_CASE("a chunk's pairs end at the window") {
  const AttentionTime attention = attention_of(windowed(), compute_alone());
  const double full = 2000.0 * 2000 / 2;
  const double sliding = 1024.0 * 1024 / 2 + 976.0 * 1024;
  CHECK(attention.pairs(2000, 0) == Approx((full + sliding) / 2));
  // Far behind the window every token of the chunk sees 1,024.
  CHECK(attention.pairs(100, 100'000) == Approx((100 * 100'000.0 + 100 * 50 + 100 * 1024) / 2));
  CHECK(attention.kv_tokens(100, 100'000) == (100'100 + 1'124) / 2);
}

TEST_CASE("more of a chunk, or more before it, is never less work over windows either") {
  REQUIRE(rc::check([] {
    const CalibratedGpu g = *rc::gen::elementOf(all_gpus());
    const AttentionTime attention = attention_of(windowed(), g);
    const std::int64_t context = *rc::gen::inRange(0, 3000);
    const std::int64_t first = *rc::gen::inRange(1, 2000);
    const std::int64_t second = *rc::gen::inRange(1, 2000);
    RC_ASSERT(attention.pairs(first, context) <= attention.pairs(first + second, context) * (1 + 1e-12));
    RC_ASSERT(attention.pairs(second, context) <= attention.pairs(second, context + first) * (1 + 1e-12));
    RC_ASSERT(attention.kv_tokens(second, context) <= attention.kv_tokens(second, context + first));
  }));
}

// DeepSeek-V2-Lite's layer: a latent of 512 + 64 elements for 16 heads, 1,152 B a token, read once.
TEST_CASE("a latent is read once, for keys and values and all heads") {
  LayerGroup latent;
  latent.where = model::all_layers(32);
  latent.latent = true;
  latent.query_heads = 16;
  latent.kv_heads = 1;
  latent.d_k = 576;
  latent.head_k = 192;
  latent.head_v = 128;
  latent.weights.split = 10'000'000;
  latent.weights.replicated = 1'000'000;
  const ModelSpec m = with_layers({latent}, mlp_groups(model::llama_3_8b()));
  CHECK(attention_of(m, memory_alone()).seconds(decodes(3, 2000)) == Approx(32.0 * 3 * 2000 * 1152));
  // A chunk works on unfolded heads: 2 (192 + 128) FLOPs a pair and head.
  StepWork chunk;
  const auto cost = roofline_of(m, compute_alone());
  cost->add_chunk(chunk, Tokens(100), Tokens(0));
  CHECK(attention_of(m, compute_alone()).seconds(chunk) == Approx(32 * 16 * 2 * 320 * 5000.0));
  // Of compressed attention one entry in four is kept, and worked on.
  LayerGroup compressed = latent;
  compressed.stride = 4;
  const ModelSpec quarter = with_layers({compressed}, mlp_groups(model::llama_3_8b()));
  CHECK(attention_of(quarter, compute_alone()).seconds(chunk) ==
        Approx(attention_of(m, compute_alone()).seconds(chunk) / 4));
  CHECK(attention_of(quarter, compute_alone()).seconds(decodes(3, 2000)) ==
        Approx(attention_of(m, compute_alone()).seconds(decodes(3, 2000)) / 4));
  // Its matrices: 2 x 11 M FLOPs a token and layer, whatever their shapes.
  const LayerTime time(m, compute_alone().gpu, compute_alone().calibration, {}, 0);
  const double mlp = 3.0 * 4096 * 14336;
  CHECK(time.layers(7) == Approx(32 * 2 * 7 * (11e6 + mlp)));
}

// State of 1,000 + 500 elements in 16 bits, read and written once a sequence: 6,000 B.
TEST_CASE("a recurrent layer reads and writes its state, whatever the context") {
  LayerGroup recurrent;
  recurrent.kind = LayerKind::recurrent;
  recurrent.where = every(2, 1);
  recurrent.state.heads = 10;
  recurrent.state.elements = 1000;
  recurrent.state.conv_elements = 500;
  recurrent.weights.split = 5'000'000;
  LayerGroup full = layer_groups(model::llama_3_8b()).front();
  full.where = every(2, 0);
  const ModelSpec m = with_layers({full, recurrent}, mlp_groups(model::llama_3_8b()));
  CalibratedGpu g = memory_alone();
  g.calibration.decode_memory_efficiency = 1;
  g.calibration.decode_overhead_s = 0;
  const double state = 16 * 6000.0;
  CHECK(attention_of(m, g).seconds(decodes(3, 100)) == Approx(16 * 3 * 100 * 4096.0 + 3 * state));
  CHECK(attention_of(m, g).seconds(decodes(3, 200)) == Approx(16 * 3 * 200 * 4096.0 + 3 * state));
}

TEST_CASE("experts that every token visits, and dense layers before the sparse ones, take their time") {
  const double dense_layer = 3.0 * 4096 * 14336;
  ModelSpec m = model::llama_3_8b();
  m.layers = layer_groups(m);
  model::MlpGroup dense = mlp_groups(model::llama_3_8b()).front();
  dense.where = {0, 1};
  model::MlpGroup sparse;
  for (std::int32_t i = 2; i < 32; ++i) sparse.where.push_back(i);
  sparse.intermediate_size = 1024;
  sparse.experts = 64;
  sparse.experts_per_token = 6;
  sparse.shared_intermediate_size = 2048;
  m.mlps = {dense, sparse};
  const LayerTime time(m, compute_alone().gpu, compute_alone().calibration, {}, 0);
  const double attention = 4096.0 * (4096 + 2 * 1024) + 4096.0 * 4096;
  const double experts = 3.0 * 4096 * (6 * 1024 + 2048) + 64 * 4096;
  CHECK(time.layers(5) == Approx(2 * 5 * (32 * attention + 2 * dense_layer + 30 * experts)));
}

// At one token a step is the bytes of the weights, but for the activations.
TEST_CASE("a quantised checkpoint's steps read its own bytes") {
  const auto bytes = [](double each) {
    ModelSpec m = model::llama_3_8b();
    if (each < 2) m.quantization = model::Quantization{"awq", each, {}, false, false, std::nullopt};
    const LayerTime time(m, memory_alone().gpu, memory_alone().calibration, {}, 0);
    return time.layers(1);
  };
  const double matrices = 32 * (4096.0 * (4096 + 2 * 1024) + 4096.0 * 4096 + 3.0 * 4096 * 14336);
  CHECK(bytes(2) - bytes(0.5) == Approx(1.5 * matrices));
  // Attention kept in 16 bits.
  ModelSpec kept = model::llama_3_8b();
  kept.quantization = model::Quantization{"fp8", 1, {"self_attn"}, false, false, model::ElementType::fp8};
  const LayerTime time(kept, memory_alone().gpu, memory_alone().calibration, {}, 0);
  CHECK(bytes(2) - time.layers(1) == Approx(32 * 3.0 * 4096 * 14336));
}

TEST_CASE("what no measurement stands behind is said") {
  const CalibratedGpu g = a100();
  CHECK(assumptions(model::llama_3_8b(), g.gpu, g.calibration).empty());
  CHECK(assumptions(windowed(), g.gpu, g.calibration).size() == 1);
  ModelSpec awq = model::llama_3_8b();
  awq.quantization = model::Quantization{"awq", 0.52, {}, false, false, std::nullopt};
  REQUIRE(assumptions(awq, g.gpu, g.calibration).size() == 1);
  CHECK(assumptions(awq, g.gpu, g.calibration).front().find("awq weights, converted to 16 bits") == 0);
  CHECK(roofline_of(awq, g)->provenance().find("by rule, not measured: awq weights") != std::string::npos);
  CHECK(roofline_of(model::llama_3_8b(), g)->provenance().find("by rule") == std::string::npos);
}
