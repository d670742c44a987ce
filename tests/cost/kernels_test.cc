#include "sim/cost/kernels.h"

#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "sim/cost/attention_time.h"
#include "sim/cost/cuda_graphs.h"
#include "tests/cost/calibrated_gpus.h"
#include "tests/model/published_models.h"

using namespace blockyard;
using namespace blockyard::cost;

// 1 FLOP/s and 1 byte/s: times are counts. Compute 2 x 3 x 5 x 7 = 210, bytes 2 x 35 + 2 x 3 x (5 + 7) = 142.
TEST_CASE("a GEMM's time joins compute and memory by the exponent") {
  CalibratedGpu g = ideal(1, 1);
  CHECK(GemmRoofline(g.gpu, g.calibration).gemm(1, 3, 5, 7, 2) == Approx(210));
  g.calibration.soft_max_exponent = 2;
  CHECK(GemmRoofline(g.gpu, g.calibration).gemm(1, 3, 5, 7, 2) == Approx(std::hypot(210, 142)));
  g.calibration.soft_max_exponent = 1;
  g.calibration.kernel_overhead_s = 10;
  CHECK(GemmRoofline(g.gpu, g.calibration).gemm(1, 3, 5, 7, 2) == Approx(362));
  g.calibration.compute_efficiency = 0.5;
  g.calibration.memory_efficiency = 0.25;
  CHECK(GemmRoofline(g.gpu, g.calibration).gemm(1, 3, 5, 7, 2) == Approx(420 + 568 + 10));
}

TEST_CASE("a finite exponent neither over- nor underflows") {
  CalibratedGpu g = ideal(1e15, 1e12);
  g.calibration.soft_max_exponent = 3.35;
  const GemmRoofline roofline(g.gpu, g.calibration);
  CHECK(roofline.kernel(0, 0) == 0);
  CHECK(roofline.kernel(1e-200, 1e-200) > 0);
  CHECK(std::isfinite(roofline.kernel(1e250, 1e250)));
}

TEST_CASE("rows count as whole tiles where the fit says so") {
  CalibratedGpu g = ideal(1, 1e18);
  g.calibration.tile_rounding = true;
  const GemmRoofline roofline(g.gpu, g.calibration);
  const auto rows = [&](double m) { return roofline.gemm(1, m, 1, 1, 2) / 2; };
  CHECK(rows(1) == Approx(64));
  CHECK(rows(64) == Approx(64));
  CHECK(rows(65) == Approx(128));
  CHECK(rows(129) == Approx(256));
  CHECK(roofline.gemm(1, 129, 1, 1, 1) / 2 == Approx(192));         // 8-bit weights
  CHECK(roofline.gemm(8, 8 * 65, 1, 1, 2) / 2 == Approx(8 * 128));  // each expert rounds its own, by 63 at most
  CHECK(roofline.gemm(8, 8 * 66, 1, 1, 2) / 2 == Approx(8 * 129));
}

// One token touches exactly k experts; two touch k more, less the expected overlap k^2 / E; many touch all.
TEST_CASE("distinct experts touched") {
  CHECK(distinct_experts(1, 2, 8) == Approx(2));
  CHECK(distinct_experts(2, 2, 8) == Approx(3.5));
  CHECK(distinct_experts(1000, 2, 8) == Approx(8));
  CHECK(distinct_experts(1, 8, 8) == Approx(8));
}

// Each GPU sends 2 (n - 1) / n of the message: 4 GPUs, 100 bytes at 10 byte/s: 1.5 x 10 s + 3 s.
TEST_CASE("an all-reduce") { CHECK(all_reduce_seconds({3, 10}, 4, 100) == Approx(18)); }

TEST_CASE("a small all-reduce goes in one shot, and a larger one never takes less") {
  const AllReduce two_shot_is_faster{2e-6, 100e9, 1000, 1e-6, 1e6};
  CHECK(all_reduce_seconds(two_shot_is_faster, 4, 1000) == Approx(1e-6 + 3e-3));
  CHECK(all_reduce_seconds(two_shot_is_faster, 4, 1001) == Approx(1e-6 + 3e-3));
  const AllReduce h = h100().calibration.all_reduce.at(4);
  // AIConfigurator, vLLM 0.19: 7.1 us for 256 KiB, 18.5 us for 2 MiB.
  CHECK(all_reduce_seconds(h, 4, 262'144) * 1e6 == Approx(7.1).epsilon(0.06));
  CHECK(all_reduce_seconds(h, 4, 2'097'152) * 1e6 == Approx(18.5).epsilon(0.06));
}

TEST_CASE("links of other kinds, and launches one by one, cost more") {
  const CalibratedGpu g = h100();
  const auto seconds = [&](GpuLinks links, bool eager) {
    return all_reduce_seconds(all_reduce_for(g.calibration, g.gpu, 4, links, eager).constants, 4, 1e6);
  };
  CHECK(seconds(GpuLinks::own, true) > seconds(GpuLinks::own, false));
  CHECK(seconds(GpuLinks::nvlink_pairs, false) > seconds(GpuLinks::own, false));
  CHECK(seconds(GpuLinks::pcie, false) > seconds(GpuLinks::nvlink_pairs, false));
  CHECK(all_reduce_for(g.calibration, g.gpu, 4, GpuLinks::own, true).measured);
  CHECK_FALSE(all_reduce_for(g.calibration, g.gpu, 4, GpuLinks::pcie).measured);
}

TEST_CASE("steps are padded to the size of their CUDA graph") {
  CHECK(padded_tokens(1, 512) == 1);
  CHECK(padded_tokens(3, 512) == 4);
  CHECK(padded_tokens(9, 512) == 16);
  CHECK(padded_tokens(257, 512) == 272);
  CHECK(padded_tokens(513, 512) == 513);
  CHECK(padded_tokens(9, 0) == 9);
  CHECK(largest_cuda_graph(64) == 128);
  CHECK(largest_cuda_graph(1024) == 512);
  for (std::int64_t largest : {0, 2, 100, 512}) {
    for (std::int64_t n = 1; n < 600; ++n) {
      CHECK(padded_tokens(n, largest) >= n);
      CHECK(padded_tokens(n, largest) <= padded_tokens(n + 1, largest));
    }
  }
}

namespace {

model::ModelSpec in(model::ElementType type) {
  model::ModelSpec m = model::llama_3_8b();
  m.dtype = type;
  return m;
}

model::ModelSpec quantised(double bytes, std::optional<model::ElementType> activations) {
  model::ModelSpec m = model::llama_3_8b();
  m.quantization = model::Quantization{"some", bytes, {}, false, false, activations};
  return m;
}

}  // namespace

TEST_CASE("a checkpoint's GEMMs run in the format of its activations, where the GPU has it") {
  using model::ElementType;
  const model::GpuSpec old = a100().gpu;  // no fp8
  const model::GpuSpec recent = h100().gpu;
  CHECK(gemm_format(recent, model::llama_3_8b()) == GemmFormat::plain);
  CHECK(gemm_format(recent, quantised(1, ElementType::fp8)) == GemmFormat::fp8);
  CHECK(gemm_format(old, quantised(1, ElementType::fp8)) == GemmFormat::converted);
  CHECK(gemm_format(old, quantised(1, ElementType::int8)) == GemmFormat::int8);
  CHECK(gemm_format(recent, quantised(0.52, std::nullopt)) == GemmFormat::converted);
  CHECK(gemm_format(recent, quantised(0.5625, ElementType::nvfp4)) == GemmFormat::converted);
  // Twice the rate: bound by compute, half the time.
  const CalibratedGpu g = ideal(1e15, 1e30);
  const double flops = 2.0 * 4096 * 4096 * 4096;
  CHECK(GemmRoofline::for_weights(g.gpu, g.calibration, quantised(1, ElementType::int8)).gemm(1, 4096, 4096, 4096, 1) ==
        Approx(flops / 2e15));
}

TEST_CASE("weights of 8 bits: fp8 tensor cores where there are any, else converted on the way") {
  const CalibratedGpu h = h100();
  // 4096 rows, bound by compute: 2 M N K / (0.492 x 1979 TFLOP/s) + 6.77 us.
  const double flops = 2.0 * 4096 * 4096 * 4096;
  CHECK(GemmRoofline::for_weights(h.gpu, h.calibration, in(model::ElementType::fp8)).gemm(1, 4096, 4096, 4096, 1) ==
        Approx(flops / (0.492 * 1979e12) + 6.77e-6));
  const CalibratedGpu a = ideal(1e15, 1e30);
  CHECK(GemmRoofline::for_weights(a.gpu, a.calibration, in(model::ElementType::int8)).gemm(1, 4096, 4096, 4096, 1) ==
        Approx(flops / (0.9 * 1e15)));
  CHECK(GemmRoofline::for_weights(a.gpu, a.calibration, in(model::ElementType::bf16)).gemm(1, 4096, 4096, 4096, 2) ==
        Approx(flops / 1e15));
}

// Llama-2-7B over 8 A100: 4 heads, one query head a KV head. 4096 tokens of one head are 2 MiB: at 23 GB/s 91.2 us.
TEST_CASE("FlashAttention-2 leaves a sequence without grouped heads to one SM") {
  const AttentionTime attention(model::llama_2_7b(), a100().gpu, a100().calibration, 8, model::ElementType::bf16);
  StepWork work;
  work.decode_sequences = 1;
  work.decode_kv_tokens = work.decode_longest = 4096;
  CHECK(attention.seconds(work) / 32 == Approx(4096 * 512 / 23e9 + 12e-6));
  // Many sequences are bound by the bytes of all.
  work.decode_sequences = 256;
  work.decode_kv_tokens = 256 * 4096;
  CHECK(attention.seconds(work) / 32 == Approx(256.0 * 4096 * 4 * 512 / (0.71 * 2039e9) + 12e-6));
  const AttentionTime grouped(model::llama_3_8b(), a100().gpu, a100().calibration, 4, model::ElementType::bf16);
  work.decode_sequences = 1;
  work.decode_kv_tokens = 4096;
  CHECK(grouped.seconds(work) / 32 == Approx(4096 * 2 * 512 / (0.71 * 2039e9) + 19.2e-6));
}

// Llama-3-8B on an A100: 8 KV heads, 512 bytes of a token each; of 164 KiB of shared memory a stream takes 80, so that
// 216 run at once.
TEST_CASE("FlashAttention-2 lets the longest of a batch go on alone where the batch fills the GPU") {
  const CalibratedGpu g = a100();
  const double bandwidth = 0.71 * 2039e9;
  const double alone = 512 / 23e9;
  const auto layer = [&](std::int64_t largest_graph, std::int64_t sequences, std::int64_t sum, std::int64_t longest) {
    const AttentionTime attention(model::llama_3_8b(), g.gpu, g.calibration, 1, model::ElementType::bf16,
                                  largest_graph);
    StepWork work;
    work.decode_sequences = sequences;
    work.decode_kv_tokens = sum;
    work.decode_longest = longest;
    return attention.seconds(work) / 32 - 19.2e-6;
  };
  // 21 sequences are 168 streams, below 0.8 x 216: their KV is split. In a CUDA graph they are 24, which are not: when
  // all are through their mean, one SM a head has the rest of the longest.
  CHECK(layer(0, 21, 31'500, 10'000) == Approx(31'500 * 4096 / bandwidth));
  CHECK(layer(512, 21, 31'500, 10'000) == Approx(31'500 * 4096 / bandwidth + 8'500 * alone));
  CHECK(layer(0, 24, 36'000, 10'000) == Approx(36'000 * 4096 / bandwidth + 8'500 * alone));
  // Of 864 streams a quarter runs at once. The longest sequence's last one starts when 54 are left, and has read what
  // each reads while these and the 216 take the bandwidth: 1 + 108 / 432 of the mean.
  CHECK(layer(0, 108, 162'000, 10'000) == Approx(162'000 * 4096 / bandwidth + (10'000 - 1'875) * alone));
  CHECK(layer(0, 108, 162'000, 1'800) == Approx(162'000 * 4096 / bandwidth));
}

// Two query heads a KV head: 176 streams, all at once, or 352 beside a chunk, whose tail is shorter; and overheads far
// apart.
TEST_CASE("a chunk takes nothing off the decodes beside it") {
  model::ModelSpec spec = model::llama_2_7b();
  spec.num_key_value_heads = 16;
  CalibratedGpu g = a100();
  for (const auto& [decode_us, prefill_us] : {std::pair{19.2, 12.0}, {100.0, 1.0}, {1.0, 100.0}, {0.0, 0.0}}) {
    g.calibration.decode_overhead_s = decode_us * 1e-6;
    g.calibration.prefill_overhead_s = prefill_us * 1e-6;
    for (const double slowdown : {0.0, 0.25, 3.0, 10.0}) {
      const AttentionTime attention(spec, g.gpu, g.calibration, 1, model::ElementType::bf16, 512, slowdown);
      for (const std::int64_t longest : {20'000, 60'000}) {
        StepWork work;
        work.decode_sequences = 11;
        work.decode_kv_tokens = 10 * 20'000 + longest;
        work.decode_longest = longest;
        const Seconds alone = attention.seconds(work);
        work.prefill_sequences = work.prefill_tokens = work.prefill_kv_tokens = 1;
        CHECK(attention.seconds(work) >= alone);
      }
    }
  }
}

// On FlashAttention-2, where streams go by themselves: grouped by 1, 2 and 4, batches of unlike lengths, any overheads.
TEST_CASE("fewer decode tokens, fewer decodes or no chunk beside them never take longer") {
  CHECK(rc::check([] {
    CalibratedGpu g = *rc::gen::elementOf(std::vector{a100(), rtx_4090(), rtx_pro_6000()});
    g.calibration.decode_overhead_s = *rc::gen::inRange(0, 100) * 1e-6;
    g.calibration.prefill_overhead_s = *rc::gen::inRange(0, 100) * 1e-6;
    model::ModelSpec spec = model::llama_2_7b();
    spec.num_key_value_heads = spec.num_attention_heads / *rc::gen::element(1, 2, 4);
    const AttentionTime attention(spec, g.gpu, g.calibration, 1, model::ElementType::bf16, *rc::gen::element(0, 512),
                                  *rc::gen::inRange(0, 40) / 10.0);
    const auto most = *rc::gen::element<std::int64_t>(300, 3'000, 30'000);
    std::vector<std::int64_t> contexts = *rc::gen::container<std::vector<std::int64_t>>(
        static_cast<std::size_t>(*rc::gen::inRange(1, 60)), rc::gen::inRange<std::int64_t>(most / 2, most));
    contexts.push_back(*rc::gen::inRange<std::int64_t>(1, 4 * most));
    const auto seconds = [&](const std::vector<std::int64_t>& of, std::int64_t chunk) {
      StepWork work;
      work.decode_sequences = std::ssize(of);
      work.decode_kv_tokens = std::accumulate(of.begin(), of.end(), std::int64_t{0});
      work.decode_longest = of.empty() ? 0 : *std::ranges::max_element(of);
      if (chunk > 0) {
        work.prefill_sequences = 1;
        work.prefill_tokens = work.prefill_kv_tokens = chunk;
        work.prefill_pairs = attention.pairs(chunk, 0);
      }
      return attention.seconds(work);
    };
    constexpr double kRounding = 1e-12;  // relative
    const std::int64_t chunk = *rc::gen::element<std::int64_t>(0, 1, 300);
    const Seconds all = seconds(contexts, chunk);
    RC_ASSERT(seconds(contexts, 0) <= all * (1 + kRounding));
    const auto at = static_cast<std::size_t>(*rc::gen::inRange<std::int64_t>(0, std::ssize(contexts)));
    std::vector<std::int64_t> less = contexts;
    less[at] = *rc::gen::inRange<std::int64_t>(1, less[at] + 1);
    RC_ASSERT(seconds(less, chunk) <= all * (1 + kRounding));
    std::vector<std::int64_t> fewer = contexts;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at));
    RC_ASSERT(seconds(fewer, chunk) <= all * (1 + kRounding));
  }));
}

TEST_CASE("streams too few for the bandwidth go at their own rate, as many at once as shared memory holds") {
  CalibratedGpu g = a100();
  const auto layer = [&](const model::ModelSpec& spec, std::int64_t tp, std::int64_t sequences, std::int64_t context) {
    const AttentionTime attention(spec, g.gpu, g.calibration, tp, model::ElementType::bf16);
    StepWork work;
    work.decode_sequences = sequences;
    work.decode_kv_tokens = sequences * context;
    work.decode_longest = context;
    return attention.seconds(work) / static_cast<double>(spec.num_hidden_layers) - 12e-6;
  };
  CHECK(layer(model::llama_2_7b(), 8, 8, 4'000) == Approx(4'000 * 512 / 23e9));  // 32 streams
  g.calibration.stream_bytes_per_s = 5e9;  // 216 x 5 GB/s, or 108 of them, are less than the bandwidth
  CHECK(layer(model::llama_2_7b(), 1, 27, 4'000) == Approx(27.0 * 32 * 4'000 * 512 / (216 * 5e9)));
  g.gpu.shared_memory_per_sm = Bytes(102'400);
  CHECK(layer(model::llama_2_7b(), 1, 27, 4'000) == Approx(27.0 * 32 * 4'000 * 512 / (108 * 5e9)));
}

TEST_CASE("an all-reduce that was not measured borrows from like links") {
  CHECK(all_reduce_for(a100().calibration, a100().gpu, 4).measured);
  const AllReduceChoice nvlink = all_reduce_for(a100().calibration, a100().gpu, 16);
  CHECK_FALSE(nvlink.measured);
  CHECK(nvlink.constants.bus_bandwidth_bytes_per_s == Approx(180e9));
  const auto pcie = [](std::int64_t n) { return all_reduce_for({}, without_data().gpu, n).constants; };
  CHECK(pcie(2).bus_bandwidth_bytes_per_s > pcie(4).bus_bandwidth_bytes_per_s);
  CHECK(pcie(4).bus_bandwidth_bytes_per_s > pcie(8).bus_bandwidth_bytes_per_s);
}

// A100: 108 SMs. Llama-3-8B: 32 query heads over 8 KV heads, so g = 4, a tile holds 16 tokens and a wave 108 x 64 / 32
// = 216.
TEST_CASE("FlashAttention-2 charges the SMs that a chunk leaves idle") {
  const CalibratedGpu g = a100();
  const AttentionTime attention(model::llama_3_8b(), g.gpu, g.calibration, 1, model::ElementType::bf16);
  // 16 tokens: 8 tiles on 108 SMs; all SMs wait for them.
  CHECK(attention.pairs(16, 10'000) == Approx((16 * 10'000 + 16 * 16 / 2) * 108.0 / 8));
  // Whole waves leave none idle: 27 KV-head rows of tiles x 8 = 216 = 2 waves; 27 x 16 tokens.
  CHECK(attention.pairs(432, 5'000) == Approx(432 * 5'000 + 432 * 432 / 2));
  // 17 tokens take the tiles of 32.
  CHECK(attention.pairs(17, 1'000) == attention.pairs(32, 1'000));

  const CalibratedGpu h = h100();  // FlashAttention-3
  CHECK(AttentionTime(model::llama_3_8b(), h.gpu, h.calibration, 1, model::ElementType::bf16).pairs(16, 10'000) ==
        Approx(16 * 10'000 + 16 * 16 / 2));
}

// A decode beside a chunk reads its KV once per query head. RTX 4090, g = 4: 0.82 B becomes 1.725 / 4 B.
TEST_CASE("FlashAttention-2 decodes slower beside a chunk, with grouped heads only") {
  const auto slowdown = [](const model::ModelSpec& spec, const CalibratedGpu& g) {
    const AttentionTime attention(spec, g.gpu, g.calibration, 1, model::ElementType::bf16);
    StepWork chunk;
    chunk.prefill_sequences = 1;
    chunk.prefill_tokens = chunk.prefill_kv_tokens = 64;
    chunk.prefill_pairs = 64 * 32;
    StepWork decode;
    decode.decode_sequences = 100;
    decode.decode_kv_tokens = 100'000'000;  // overheads drown
    StepWork both = decode;
    both.prefill_sequences = chunk.prefill_sequences;
    both.prefill_tokens = chunk.prefill_tokens;
    both.prefill_kv_tokens = chunk.prefill_kv_tokens;
    both.prefill_pairs = chunk.prefill_pairs;
    return (attention.seconds(both) - attention.seconds(chunk)) / attention.seconds(decode);
  };
  CHECK(slowdown(model::llama_3_8b(), rtx_4090()) == Approx(0.82 / (1.725 / 4)).epsilon(1e-6));
  CHECK(slowdown(model::llama_2_7b(), rtx_4090()) == Approx(1));  // one query head a KV head: nothing to pack
  CHECK(slowdown(model::llama_3_8b(), h100()) == Approx(1));
}
