#include "sim/cost/roofline.h"

#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "sim/cost/fixed_step.h"
#include "sim/cost/kernels.h"
#include "sim/model/weights.h"
#include "tests/cost/calibrated_gpus.h"
#include "tests/model/published_models.h"

using namespace blockyard;
using namespace blockyard::cost;

namespace {

RooflineOptions over(std::int64_t tp, std::int64_t table_tokens = 0) {
  RooflineOptions options;
  options.parallelism.tensor = tp;
  options.table_tokens = table_tokens;
  return options;
}

SimTime step_time(const model::ModelSpec& spec, const CalibratedGpu& g, const StepWork& work, std::int64_t tp = 1,
                  std::int64_t table_tokens = 0) {
  return make_roofline(spec, g.gpu, g.calibration, over(tp, table_tokens))->step(work);
}

// A batch by its members, so that members can be taken away.
struct BatchOf {
  struct Chunk {
    std::int64_t fresh, context;
  };
  std::vector<std::int64_t> decode_contexts;
  std::vector<Chunk> chunks;
  std::int64_t sampled = 0;
};

StepWork sums(const CostModel& cost, const BatchOf& batch) {
  StepWork work;
  work.decode_sequences = static_cast<std::int64_t>(batch.decode_contexts.size());
  work.decode_kv_tokens = std::accumulate(batch.decode_contexts.begin(), batch.decode_contexts.end(), std::int64_t{0});
  for (const std::int64_t context : batch.decode_contexts) work.decode_longest = std::max(work.decode_longest, context);
  for (const BatchOf::Chunk& c : batch.chunks) cost.add_chunk(work, Tokens(c.fresh), Tokens(c.context));
  work.sampled_sequences = batch.sampled;
  return work;
}

StepWork decodes(std::int64_t sequences, std::int64_t context) {
  StepWork work;
  work.decode_sequences = work.sampled_sequences = sequences;
  work.decode_kv_tokens = sequences * context;
  work.decode_longest = context;
  return work;
}

rc::Gen<BatchOf> any_batch() {
  return rc::gen::exec([] {
    BatchOf batch;
    batch.decode_contexts = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, 20'000));
    const int chunks = *rc::gen::inRange(0, 4);
    for (int i = 0; i < chunks; ++i) {
      batch.chunks.push_back({*rc::gen::inRange<std::int64_t>(1, 4'097), *rc::gen::inRange<std::int64_t>(0, 20'000)});
    }
    if (batch.decode_contexts.empty() && batch.chunks.empty()) batch.decode_contexts.push_back(1);
    const auto sequences = static_cast<std::int64_t>(batch.decode_contexts.size() + batch.chunks.size());
    batch.sampled = *rc::gen::inRange<std::int64_t>(0, sequences + 1);
    return batch;
  });
}

model::ModelSpec many_experts() {
  model::ModelSpec m = model::decoder({"many experts", 48, 2048, 768, 32, 4, 128, 151936, 40960});
  m.num_experts = 128;
  m.experts_per_token = 8;
  return m;
}

model::ModelSpec quantised(model::ModelSpec m, double bytes, std::optional<model::ElementType> activations) {
  m.name += " quantised";
  m.quantization = model::Quantization{"some", bytes, {}, false, false, activations};
  return m;
}

rc::Gen<model::ModelSpec> any_model() {
  return rc::gen::element(
      many_experts(), quantised(model::llama_3_8b(), 0.52, std::nullopt),
      quantised(model::llama_3_8b(), 1, std::nullopt), quantised(model::llama_3_8b(), 1, model::ElementType::fp8),
      quantised(model::mixtral_8x7b(), 0.52, std::nullopt), quantised(many_experts(), 1, model::ElementType::fp8),
      model::llama_2_7b(), model::llama_3_8b(), model::llama_3_70b(), model::qwen2_5_7b(), model::qwen3_32b(),
      model::mixtral_8x7b(), model::opt_13b(), model::decoder({"small", 12, 768, 3072, 12, 12, 64, 32000, 131072}));
}

rc::Gen<CalibratedGpu> any_gpu() { return rc::gen::elementOf(all_gpus()); }

}  // namespace

namespace blockyard::cost {
void showValue(const CalibratedGpu& g, std::ostream& os) { os << g.gpu.name; }
}  // namespace blockyard::cost
namespace blockyard::model {
void showValue(const ModelSpec& spec, std::ostream& os) { os << spec.name; }
}  // namespace blockyard::model

TEST_CASE("more bandwidth or FLOP/s never makes a step slower") {
  REQUIRE(rc::check([] {
    const model::ModelSpec spec = *any_model();
    const CalibratedGpu g = *any_gpu();
    const std::int64_t tp = *rc::gen::element<std::int64_t>(1, 2, 4);
    const StepWork work = sums(*make_roofline(spec, g.gpu, g.calibration, over(tp)), *any_batch());
    CalibratedGpu better = g;
    const double factor = 1 + *rc::gen::inRange(0, 1000) / 100.0;
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        better.gpu.memory_bandwidth_bytes_per_s *= factor;
        break;
      case 1:
        better.gpu.bf16_flops_per_s *= factor;
        break;
      case 2:
        better.gpu.gpu_link_bytes_per_s *= factor;
        break;
      default:
        better.gpu.pcie_bytes_per_s *= factor;
        break;
    }
    RC_ASSERT(step_time(spec, better, work, tp) <= step_time(spec, g, work, tp));
  }));
}

TEST_CASE("fewer tokens never make a step slower") {
  REQUIRE(rc::check([] {
    const model::ModelSpec spec = *any_model();
    const CalibratedGpu g = *any_gpu();
    const std::int64_t tp = *rc::gen::element<std::int64_t>(1, 2, 4);
    const BatchOf batch = *any_batch();
    BatchOf less = batch;
    switch (*rc::gen::inRange(0, 5)) {
      case 0:
        if (!less.decode_contexts.empty()) less.decode_contexts.pop_back();
        break;
      case 1:
        if (!less.decode_contexts.empty())
          less.decode_contexts.back() = *rc::gen::inRange<std::int64_t>(0, less.decode_contexts.back() + 1);
        break;
      case 2:
        if (!less.chunks.empty()) less.chunks.pop_back();
        break;
      case 3:
        if (!less.chunks.empty())
          less.chunks.back().fresh = *rc::gen::inRange<std::int64_t>(0, less.chunks.back().fresh + 1);
        break;
      default:
        if (!less.chunks.empty())
          less.chunks.back().context = *rc::gen::inRange<std::int64_t>(0, less.chunks.back().context + 1);
        break;
    }
    less.sampled = *rc::gen::inRange<std::int64_t>(0, batch.sampled + 1);
    const auto cost = make_roofline(spec, g.gpu, g.calibration, over(tp));
    const StepWork smaller = sums(*cost, less);
    RC_PRE(!smaller.empty());
    RC_ASSERT(cost->step(smaller) <= cost->step(sums(*cost, batch)));
  }));
}

// Up to the rounding of each step to a nanosecond.
TEST_CASE("splitting a lone prefill into chunks never costs less in total") {
  REQUIRE(rc::check([] {
    const model::ModelSpec spec = *any_model();
    const CalibratedGpu g = *any_gpu();
    const std::int64_t tp = *rc::gen::element<std::int64_t>(1, 2, 4);
    const auto cost = make_roofline(spec, g.gpu, g.calibration, over(tp));
    const std::int64_t prompt = *rc::gen::element<std::int64_t>(128, 1'024, 8'192, 131'072);
    const std::int64_t length = *rc::gen::inRange<std::int64_t>(2, prompt + 1);
    const std::int64_t cached = *rc::gen::element<std::int64_t>(0, 1'000, 100'000);
    std::vector<std::int64_t> cuts =
        *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, length)));
    cuts.push_back(length);
    std::sort(cuts.begin(), cuts.end());
    SimTime total;
    std::int64_t done = 0;
    std::int64_t pieces = 0;
    for (const std::int64_t cut : cuts) {
      if (cut == done) continue;
      total += cost->step(sums(*cost, {{}, {{cut - done, cached + done}}, cut == length}));
      done = cut;
      ++pieces;
    }
    RC_ASSERT(cost->step(sums(*cost, {{}, {{length, cached}}, 1})) <= total + SimTime(pieces));
  }));
}

// Small steps run in CUDA graphs of a few sizes: 9 tokens compute as many rows as 16, and read the experts of 9. Where
// rows come in tiles, 129 are more than 128 and 1.
TEST_CASE("nor where what is split just went beyond a graph or a tile") {
  for (const model::ModelSpec& spec :
       {many_experts(), model::mixtral_8x7b(), quantised(model::llama_3_8b(), 0.52, std::nullopt),
        quantised(model::llama_3_8b(), 1, std::nullopt), model::llama_3_8b()}) {
    for (const CalibratedGpu& g : all_gpus()) {
      const auto cost = make_roofline(spec, g.gpu, g.calibration, over(1));
      const auto prefill = [&](std::int64_t fresh, std::int64_t before, bool last) {
        return cost->step(sums(*cost, {{}, {{fresh, before}}, last}));
      };
      for (const std::int64_t first : {1, 8, 64, 128, 256, 512, 2'048, 3'584}) {
        for (const std::int64_t rest : {1, 2, 53}) {
          INFO(spec.name << " on " << g.gpu.name << ": " << first << " + " << rest);
          CHECK(prefill(first + rest, 0, true) <= prefill(first, 0, false) + prefill(rest, first, true) + SimTime(2));
        }
      }
    }
  }
}

TEST_CASE("one GPU does not communicate, several do") {
  for (const CalibratedGpu& g : all_gpus()) {
    CalibratedGpu slow = g;
    slow.gpu.gpu_link_bytes_per_s /= 100;
    slow.gpu.pcie_bytes_per_s /= 100;
    for (auto& [gpus, entry] : slow.calibration.all_reduce) entry.bus_bandwidth_bytes_per_s /= 100;
    const StepWork work = decodes(64, 1000);
    CHECK(step_time(model::llama_3_8b(), slow, work, 1) == step_time(model::llama_3_8b(), g, work, 1));
    CHECK(step_time(model::llama_3_8b(), slow, work, 2) > step_time(model::llama_3_8b(), g, work, 2));
  }
  // Two all-reduces of 2 x 64 x 4096 bytes in each of 32 layers: 5 us + 524,288 B / 180 GB/s each. Then half of the 64
  // rows' 128,256 logits come over, 2 bytes each.
  CalibratedGpu free = a100();
  free.calibration.all_reduce[2] = {0, 1e30};
  const SimTime both = step_time(model::llama_3_8b(), a100(), decodes(64, 1000), 2);
  const SimTime without = step_time(model::llama_3_8b(), free, decodes(64, 1000), 2);
  CHECK(to_seconds(both - without) ==
        Approx(64 * (5e-6 + 524'288 / 180e9) + 5e-6 + 64 * 128'256 / 180e9).epsilon(1e-4));
}

TEST_CASE("tables give what the formula gives, whatever was asked before") {
  REQUIRE(rc::check([] {
    const model::ModelSpec spec = *any_model();
    const CalibratedGpu g = *any_gpu();
    const auto table = make_roofline(spec, g.gpu, g.calibration, over(1, 1'000));
    const auto batches = *rc::gen::container<std::vector<BatchOf>>(any_batch());
    for (int pass = 0; pass < 2; ++pass) {
      for (const BatchOf& batch : batches) {
        const StepWork work = sums(*table, batch);
        RC_ASSERT(table->step(work) == step_time(spec, g, work));
      }
    }
  }));
}

// An ideal GPU with endless FLOP/s decodes one sequence in the time of its bytes: all weights but the rows of the
// embedding that are not looked up, the context's KV, and activations (a thousandth). 2 TB/s.
TEST_CASE("a decode bound by bandwidth takes the time of its bytes") {
  const CalibratedGpu g = ideal(1e30, 2e12);
  for (const model::ModelSpec& spec : {model::llama_3_8b(), model::llama_2_7b(), model::qwen3_32b()}) {
    const double embedding = 2.0 * static_cast<double>(spec.vocab_size * spec.hidden_size);
    const double weights = static_cast<double>(weight_bytes(spec).count()) - embedding;
    const double kv_a_token =
        4.0 * static_cast<double>(spec.num_hidden_layers * spec.num_key_value_heads * spec.head_dim);
    const double bound = (weights + 8'000 * kv_a_token) / 2e12;
    const double took = to_seconds(step_time(spec, g, decodes(1, 8'000)));
    CHECK(took >= bound * 0.9999);  // norms are left out
    CHECK(took <= bound * 1.001);
  }
}

// With endless bandwidth a prefill takes 2 FLOPs a weight and token, and 4 heads head_dim a pair: n^2 / 2 of them, no
// padding on FlashAttention-3. The output head computes one row.
TEST_CASE("a prefill bound by compute takes the time of its FLOPs") {
  const CalibratedGpu g = ideal(1e15, 1e30);
  for (const model::ModelSpec& spec : {model::llama_3_8b(), model::llama_2_70b()}) {
    const double n = 4'000;
    const double head = static_cast<double>(spec.vocab_size * spec.hidden_size);
    const double norms = static_cast<double>((2 * spec.num_hidden_layers + 1) * spec.hidden_size);
    const double layers = static_cast<double>(parameter_count(spec)) - 2 * head - norms;
    const double pairs =
        static_cast<double>(spec.num_hidden_layers * spec.num_attention_heads * spec.head_dim) * n * n / 2;
    const auto cost = make_roofline(spec, g.gpu, g.calibration, {});
    CHECK(to_seconds(cost->step(sums(*cost, {{}, {{4'000, 0}}, 1}))) ==
          Approx((2 * n * layers + 2 * head + 4 * pairs) / 1e15).epsilon(1e-6));
  }
}

// Mixtral decodes one token with 2 of its 8 experts, 12.88e9 of 46.70e9 parameters; a large batch reads them all.
TEST_CASE("a mixture of experts reads the experts that it touches") {
  const CalibratedGpu g = ideal(1e30, 1e12);
  const model::ModelSpec spec = model::mixtral_8x7b();
  const double embedding = static_cast<double>(spec.vocab_size * spec.hidden_size);
  CHECK(to_seconds(step_time(spec, g, decodes(1, 1))) == Approx(2 * (12.88e9 - embedding) / 1e12).epsilon(0.002));
  CHECK(to_seconds(step_time(spec, g, decodes(64, 1))) == Approx(2 * (46.70e9 - embedding) / 1e12).epsilon(0.02));
}

TEST_CASE("a step of millions of tokens stays finite") {
  StepWork work;
  work.prefill_sequences = 256;
  work.prefill_tokens = work.prefill_kv_tokens = 5'000'000;
  work.prefill_pairs = 5e10;
  work.sampled_sequences = 256;
  for (const CalibratedGpu& g : all_gpus()) {
    const SimTime took = step_time(model::llama_3_8b(), g, work, 1, 2'048);
    CHECK(to_seconds(took) > 1);
    CHECK(to_seconds(took) < 1e5);
  }
}

TEST_CASE("an empty step takes the engine's own time, any other at least a nanosecond") {
  const CalibratedGpu g = a100();
  const auto cost = make_roofline(model::llama_3_8b(), g.gpu, g.calibration, {});
  CHECK(cost->empty_step() == SimTime(250'000));
  CHECK(cost->step({}) == cost->empty_step());
  StepWork nothing;
  cost->add_chunk(nothing, Tokens(0), Tokens(100));
  CHECK(nothing.empty());
  CHECK(step_time(model::llama_3_8b(), ideal(1e30, 1e30), decodes(1, 1)) == SimTime(1));
}

TEST_CASE("the provenance names constants, error and what was borrowed") {
  CalibratedGpu g = a100();
  g.calibration.source = "kernels of a GPU";
  g.calibration.error = "4 % MAPE";
  const auto line = [&](std::int64_t tp) {
    return make_roofline(model::llama_3_8b(), g.gpu, g.calibration, over(tp))->provenance();
  };
  CHECK(line(2) == "roofline, a100: kernels of a GPU; 4 % MAPE");
  CHECK(line(16) == "roofline, a100: kernels of a GPU; 4 % MAPE; all-reduce over 16 GPUs: of like links, not measured");
}

TEST_CASE("a fixed step is fixed") {
  const auto cost = make_fixed(SimTime(20'000'000));
  CHECK(cost->step(decodes(256, 8'000)) == SimTime(20'000'000));
  CHECK(cost->empty_step() == SimTime(20'000'000));
  CHECK(sums(*cost, {{}, {{10, 100}}, 0}).prefill_pairs == 1'050);
}
