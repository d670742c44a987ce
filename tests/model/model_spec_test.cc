#include "sim/model/model_spec.h"
#include "sim/model/weights.h"

#include <catch2/catch.hpp>

#include "tests/model/published_models.h"

using namespace blockyard;
using namespace blockyard::model;

namespace {

std::size_t faults(const ModelSpec& spec) {
  Diagnostics diagnostics;
  check(spec, {}, diagnostics);
  return diagnostics.list().size();
}

std::string fault_of_splitting(const ModelSpec& spec, std::int64_t tp) {
  Diagnostics diagnostics;
  check_tensor_parallel(spec, tp, {}, diagnostics);
  CHECK(diagnostics.list().size() <= 1U);
  return diagnostics.list().empty() ? "" : diagnostics.list().front().message;
}

}  // namespace

// Published counts, to the four digits that are printed.
TEST_CASE("parameter counts are the published ones") {
  const auto billions = [](const ModelSpec& spec) { return static_cast<double>(parameter_count(spec)) / 1e9; };
  const auto published = [](double count) { return Approx(count).epsilon(0.0005); };
  CHECK(billions(llama_2_7b()) == published(6.738));
  CHECK(billions(decoder({"llama-2-13b", 40, 5120, 13824, 40, 40, 128, 32000, 4096})) == published(13.016));
  CHECK(billions(llama_2_70b()) == published(68.977));
  CHECK(billions(llama_3_8b()) == published(8.030));
  CHECK(billions(llama_3_70b()) == published(70.55));
  CHECK(billions(codellama_34b()) == published(33.74));
  CHECK(billions(decoder({"mistral-7b", 32, 4096, 14336, 32, 8, 128, 32000, 32768})) == published(7.242));
  CHECK(billions(qwen2_5_7b()) == published(7.616));
  CHECK(billions(qwen3_32b()) == published(32.76));
  CHECK(billions(mixtral_8x7b()) == published(46.70));
  CHECK(billions(opt_13b()) == published(12.85));
}

TEST_CASE("every published model passes its own check") {
  for (const ModelSpec& spec : {llama_2_7b(), llama_3_70b(), qwen2_5_7b(), qwen3_32b(), mixtral_8x7b(), opt_13b()}) {
    CHECK(faults(spec) == 0);
  }
}

// Two layers of hidden 4, 2 query heads and 1 KV head of 3 elements, MLP of 5, vocabulary of 7. A layer: q and o 2 x 4
// x 6, k and v 4 x 6, MLP 3 x 4 x 5, two norms of 4 = 140. Embedding and head 2 x 7 x 4, last norm 4: 2 x 140 + 60.
TEST_CASE("the parameters of a model small enough for the hand") {
  ModelSpec m = decoder({"tiny", 2, 4, 5, 2, 1, 3, 7, 16});
  CHECK(parameter_count(m) == 340);
  CHECK(weight_bytes(m) == Bytes(680));
  m.tie_word_embeddings = true;
  CHECK(parameter_count(m) == 340 - 28);
  m.num_experts = 3;  // two more MLPs, and a router of 4 x 3, in each layer
  m.experts_per_token = 1;
  CHECK(parameter_count(m) == 340 - 28 + 2 * (2 * 60 + 12));
  m.dtype = ElementType::fp8;
  CHECK(weight_bytes(m) == Bytes(parameter_count(m)));
}

// All but norms, router and replicated KV projections is split, so the ranks together hold the model and little more.
TEST_CASE("tensor parallelism splits the weights") {
  for (const ModelSpec& spec : {llama_2_7b(), llama_3_8b(), mixtral_8x7b()}) {
    CHECK(weight_bytes_per_gpu(spec, 1) == weight_bytes(spec));
    for (const std::int64_t tp : {2, 4, 8}) {
      const double sum = static_cast<double>((weight_bytes_per_gpu(spec, tp) * tp).count());
      const double whole = static_cast<double>(weight_bytes(spec).count());
      CHECK(sum > whole);
      CHECK(sum < whole * 1.001);
    }
  }
  // 16 ranks over 8 KV heads: each head twice, 32 layers x 2 x 4096 x 1024 elements of 2 bytes more in all.
  const Bytes extra = weight_bytes_per_gpu(llama_3_8b(), 16) * 16 - weight_bytes(llama_3_8b());
  CHECK(static_cast<double>(extra.count()) == Approx(32.0 * 2 * 4096 * 1024 * 2).epsilon(0.02));
}

TEST_CASE("what tensor parallelism cannot split is said") {
  CHECK(fault_of_splitting(llama_3_8b(), 1).empty());
  CHECK(fault_of_splitting(llama_3_8b(), 8).empty());
  CHECK(fault_of_splitting(llama_3_8b(), 16).empty());  // 8 KV heads, each on two ranks
  CHECK_THAT(
      fault_of_splitting(llama_3_8b(), 3),
      Catch::Contains("does not divide num_attention_heads 32, num_key_value_heads 8, intermediate_size 14336 of "));
  CHECK_THAT(fault_of_splitting(llama_3_8b(), 0), Catch::Contains("expected 1 or more"));
  // 28 heads it does divide.
  CHECK_THAT(fault_of_splitting(qwen2_5_7b(), 7),
             Catch::Contains("does not divide num_key_value_heads 4, intermediate_size 18944 of "));
}

TEST_CASE("absurd fields are all found") {
  ModelSpec m = llama_3_8b();
  m.num_hidden_layers = 0;
  m.head_dim = -1;
  CHECK(faults(m) == 2);
  m = llama_3_8b();
  m.num_key_value_heads = 5;
  CHECK(faults(m) == 1);
  m = mixtral_8x7b();
  m.experts_per_token = 9;
  CHECK(faults(m) == 1);
  m = llama_3_8b();
  m.experts_per_token = 2;
  CHECK(faults(m) == 1);
  m = llama_3_8b();
  m.num_hidden_layers = 10'000;
  m.hidden_size = 1'000'000;
  m.intermediate_size = 10'000'000;
  CHECK(faults(m) == 1);
}

TEST_CASE("replicas share the routed experts of a mixture, and nothing of a dense model") {
  const ModelSpec mixtral = mixtral_8x7b();
  const Stage whole = whole_model(mixtral);
  // 32 layers of 8 experts, each three matrices of 4096 x 14336 in 2 bytes.
  const std::int64_t experts = 32LL * 8 * 3 * 4096 * 14336 * 2;
  for (const std::int64_t replicas : {1, 2, 8}) {
    CHECK(weight_bytes_per_gpu(mixtral, 1, whole, replicas) ==
          weight_bytes(mixtral) - Bytes(experts - experts / replicas));
  }
  CHECK(weight_bytes_per_gpu(llama_3_8b(), 1, whole_model(llama_3_8b()), 8) == weight_bytes(llama_3_8b()));
}
