#include "sim/model/engine_log.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <sstream>

using namespace blockyard;
using namespace blockyard::model;

namespace {

EngineLog read(const std::string& text) {
  std::istringstream in(text);
  return read_engine_log(in);
}

}  // namespace

TEST_CASE("start-up lines of vLLM V1") {
  const EngineLog log = read(
      "INFO 05-01 10:00:00 [core.py:80] Initializing a V1 LLM engine (v0.19.0) with config: "
      "model='meta-llama/Llama-3.1-8B-Instruct', dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=2, "
      "pipeline_parallel_size=1, kv_cache_dtype=auto, ...\n"
      "INFO [gpu_model_runner.py:1] Model loading took 14.99 GiB memory and 3.2 seconds\n"
      "INFO [gpu_worker.py:298] Available KV cache memory: 58.11 GiB\n"
      "INFO [kv_cache_utils.py:864] GPU KV cache size: 476,000 tokens\n"
      "INFO [kv_cache_utils.py:868] Maximum concurrency for 8,192 tokens per request: 58.11x\n"
      "INFO [gpu_model_runner.py:2] Graph capturing finished in 12 secs, took 0.84 GiB\n");
  CHECK(log.version == "0.19.0");
  CHECK(log.model == "meta-llama/Llama-3.1-8B-Instruct");
  CHECK(log.tp == 2);
  CHECK(log.max_model_len == Tokens(8192));
  CHECK(log.kv_cache_dtype == "auto");
  CHECK(log.weights_gib == 14.99);
  CHECK(log.kv_gib == 58.11);
  CHECK(log.kv_tokens == Tokens(476'000));
  CHECK(log.max_concurrency == 58.11);
  CHECK(log.concurrency_length == Tokens(8192));
  CHECK(log.cuda_graphs_gib == 0.84);
  CHECK(log.notes.empty());
}

TEST_CASE("start-up lines of vLLM V0") {
  const EngineLog log = read(
      "the current vLLM instance can use total_gpu_memory (79.25GiB) x gpu_memory_utilization (0.15) = 11.89GiB\n"
      "model weights take 8.51GiB; non_torch_memory takes 0.26GiB; PyTorch activation peak memory takes 0.94GiB; the "
      "rest of the memory reserved for KV Cache is 2.18GiB.\n"
      "# GPU blocks: 715, # CPU blocks: 1310\n"
      "Maximum concurrency for 2048 tokens per request: 5.59x\n");
  CHECK(log.total_gib == 79.25);
  CHECK(log.gpu_memory_utilization == 0.15);
  CHECK(log.weights_gib == 8.51);
  CHECK(log.non_torch_gib == 0.26);
  CHECK(log.activation_gib == 0.94);
  CHECK(log.kv_gib == 2.18);
  CHECK(log.kv_blocks == Blocks(715));
  CHECK(log.host_blocks == Blocks(1310));
}

TEST_CASE("refusals") {
  const EngineLog log = read(
      "ValueError: To serve at least one request with the models's max seq len (262144), (62.00 GiB KV cache is "
      "needed, "
      "which is larger than the available KV cache memory (48.66 GiB). Based on the available memory, the estimated "
      "maximum model length is 205728. Try increasing `gpu_memory_utilization`\n");
  CHECK(log.max_model_len == Tokens(262'144));
  CHECK(log.needed_gib == 62.00);
  CHECK(log.kv_gib == 48.66);
  CHECK(log.largest_max_model_len == Tokens(205'728));
  const EngineLog old = read(
      "ValueError: The model's max seq len (32768) is larger than the maximum number of tokens that can be stored in "
      "KV "
      "cache (7344). Try increasing `gpu_memory_utilization`\n");
  CHECK(old.max_model_len == Tokens(32'768));
  CHECK(old.kv_tokens == Tokens(7'344));
}

TEST_CASE("ranks that differ: the least, and a warning") {
  const EngineLog log = read(
      "GPU KV cache size: 107,824 tokens\nGPU KV cache size: 107,312 tokens\nGPU KV cache size: "
      "107,600 tokens\n");
  CHECK(log.kv_tokens == Tokens(107'312));
  CHECK(log.notes.size() == 1);
}

TEST_CASE("text that is no log says nothing, and any text is read") {
  CHECK(read("").empty());
  CHECK(read("hello\n# GPU blocks:\nKV cache size: many tokens\n").empty());
  REQUIRE(rc::check([] {
    std::string text = "GPU KV cache size: 476,000 tokens\nMaximum concurrency for 8,192 tokens per request: 58.11x\n";
    const int edits = *rc::gen::inRange(0, 20);
    for (int i = 0; i < edits; ++i) text[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
    (void)read(text);
  }));
}
