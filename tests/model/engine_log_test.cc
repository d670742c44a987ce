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
      "pipeline_parallel_size=1, data_parallel_size=4, kv_cache_dtype=auto, ...\n"
      "INFO [gpu_model_runner.py:1] Model loading took 14.99 GiB memory and 3.2 seconds\n"
      "INFO [gpu_worker.py:298] Available KV cache memory: 58.11 GiB\n"
      "INFO [kv_cache_utils.py:864] GPU KV cache size: 476,000 tokens\n"
      "INFO [kv_cache_utils.py:868] Maximum concurrency for 8,192 tokens per request: 58.11x\n"
      "INFO [gpu_model_runner.py:2] Graph capturing finished in 12 secs, took 0.84 GiB\n");
  CHECK(log.version == "0.19.0");
  CHECK(log.model == "meta-llama/Llama-3.1-8B-Instruct");
  CHECK(log.tp == 2);
  CHECK(log.dp == 4);
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

TEST_CASE("the split of memory that vLLM prints from 0.11 on") {
  const EngineLog log = read(
      "(APIServer pid=1) INFO [api_server.py:1200] vLLM API server version 0.19.0\n"
      "INFO [utils.py:200] non-default args: {'model': 'meta-llama/Llama-3.1-8B-Instruct', 'max_model_len': 8192, "
      "'gpu_memory_utilization': 0.95, 'tensor_parallel_size': 2}\n"
      "INFO [model.py:1500] Using max model len 8192\n"
      "INFO [a/b.py:1] Estimated CUDA graph memory: 0.80 GiB total\n"
      "INFO [w/gpu_worker.py:400] Free memory on device (78.60/79.19 GiB) on startup. Desired GPU memory utilization "
      "is (0.95, 75.23 GiB). Actual usage is 14.99 GiB for weight, 1.89 GiB for peak activation, 0.25 GiB for "
      "non-torch memory, and 0.84 GiB for CUDAGraph memory. Replace gpu_memory_utilization config with "
      "`--kv-cache-memory=61000000000` (56.81 GiB) to fit into requested memory, or `--kv-cache-memory=64000000000` "
      "(59.6 GiB) to fully utilize gpu memory. Current kv cache memory in use is 62395137393 bytes.\n");
  CHECK(log.version == "0.19.0");
  CHECK_FALSE(log.v0);
  CHECK(log.model == "meta-llama/Llama-3.1-8B-Instruct");
  CHECK(log.tp == 2);
  CHECK(log.max_model_len == Tokens(8192));
  CHECK(log.gpu_memory_utilization == 0.95);
  CHECK(log.total_gib == 79.19);
  CHECK(log.weights_gib == 14.99);
  CHECK(log.activation_gib == 1.89);
  CHECK(log.non_torch_gib == 0.25);
  CHECK(log.cuda_graphs_gib == 0.84);
  CHECK(*log.kv_gib == Approx(58.11));
  CHECK(log.notes.empty());
}

TEST_CASE("the command line stands in a log too; a refusal without its second bracket") {
  const EngineLog log = read(
      "$ vllm serve Qwen/Qwen3-8B --tensor-parallel-size 4 --max-model-len=32768 --kv-cache-dtype fp8 "
      "--gpu-memory-utilization 0.85 --max-num-batched-tokens 4096 --speculative-model=Qwen/Qwen3-0.6B\n"
      "ValueError: To serve at least one request with the model's max seq len (131072), 16.0 GiB KV cache is needed, "
      "which is larger than the available KV cache memory (5.25 GiB).\n");
  CHECK(log.model == "Qwen/Qwen3-8B");
  CHECK(log.tp == 4);
  CHECK(log.max_model_len == Tokens(32768));
  CHECK(log.kv_cache_dtype == "fp8");
  CHECK(log.gpu_memory_utilization == 0.85);
  CHECK(log.max_num_batched_tokens == Tokens(4096));
  CHECK(log.needed_gib == 16.0);
  CHECK(log.kv_gib == 5.25);
}

TEST_CASE("vLLM 0.6's profile, and an engine of the first generation") {
  const EngineLog log = read(
      "INFO llm_engine.py:237] Initializing an LLM engine (v0.6.3.post1) with config: model='facebook/opt-13b', "
      "speculative_config=None, max_seq_len=2048, tensor_parallel_size=1, pipeline_parallel_size=1, "
      "kv_cache_dtype=auto\n"
      "INFO worker.py:263] Memory profiling results: total_gpu_memory=79.10GiB initial_memory_usage=24.43GiB "
      "peak_torch_memory=24.78GiB memory_usage_post_profile=24.51GiB non_torch_memory=0.27GiB kv_cache_size=46.13GiB "
      "gpu_memory_utilization=0.90\n"
      "INFO gpu_executor.py:122] # GPU blocks: 3779, # CPU blocks: 327\n");
  CHECK(log.version == "0.6.3.post1");
  CHECK(log.v0);
  CHECK(log.total_gib == 79.10);
  CHECK(log.non_torch_gib == 0.27);
  CHECK(log.kv_gib == 46.13);
  CHECK(log.gpu_memory_utilization == 0.90);
  CHECK(log.kv_blocks == Blocks(3779));
}

TEST_CASE("other engines' lines of the KV cache") {
  const EngineLog sglang = read(
      "server_args=ServerArgs(model_path='meta-llama/Llama-3.1-8B', tp_size=2, kv_cache_dtype='auto')\n"
      "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=70.00 GB, mem usage=7.53 GB.\n"
      "KV Cache is allocated. #tokens: 459344, K size: 14.02 GB, V size: 14.02 GB\n"
      "max_total_num_tokens=459344, chunked_prefill_size=8192, max_running_requests=2049, context_len=131072\n");
  CHECK(sglang.model == "meta-llama/Llama-3.1-8B");
  CHECK(sglang.tp == 2);
  CHECK(sglang.weights_gib == 7.53);
  CHECK(*sglang.kv_gib == Approx(28.04));
  CHECK(sglang.kv_tokens == Tokens(459'344));
  CHECK(sglang.max_model_len == Tokens(131'072));
  const EngineLog trt = read("[TensorRT-LLM][INFO] Allocated 54.22 GiB for max tokens in paged KV cache (444192).\n");
  CHECK(trt.kv_tokens == Tokens(444'192));
  CHECK(trt.kv_gib == 54.22);
}

TEST_CASE("CUDA graphs of several ranks: the least, and the time is no memory") {
  const EngineLog log = read(
      "GPU KV cache size: 1,000 tokens\nGraph capturing finished in 20 secs, took 0.90 GiB\n"
      "Graph capturing finished in 21 secs, took 0.84 GiB\nGraph capturing finished in 30 secs.\n");
  CHECK(log.cuda_graphs_gib == 0.84);
  CHECK(log.notes.size() == 1);
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
