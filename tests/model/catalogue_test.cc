// Every model of the catalogue: the bytes that a token leaves in its KV cache, worked out here from the published shape
// and not by the code, and its size.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include "sim/model/hf_config.h"
#include "sim/model/kv_geometry.h"
#include "sim/model/weights.h"

using namespace blockyard;
using namespace blockyard::model;
namespace fs = std::filesystem;

namespace {

struct Published {
  std::int64_t bytes_per_token;      // layers x KV heads x (d_k + d_v) x 2 B, inside every window
  double billions;                   // parameters of the language model, from model cards and indices of safetensors
  std::int64_t beyond_windows = -1;  // of layers that look at everything; -1: all of them do
  std::int64_t fixed = 0;            // bytes a sequence, whatever its length
};

const std::map<std::string, Published> kPublished{
    {"llama-3.1-70b", {80 * 8 * 256 * 2, 70.554}},
    {"llama-3.3-70b", {80 * 8 * 256 * 2, 70.554}},
    {"llama-3.1-405b", {126 * 8 * 256 * 2, 405.85}},
    {"llama-3.2-1b", {16 * 8 * 128 * 2, 1.2358}},
    {"llama-3.2-3b", {28 * 8 * 256 * 2, 3.2127}},
    {"llama-3.2-11b-vision", {32 * 8 * 256 * 2, 9.78}},  // its 8 cross-attention layers keep image tokens alone
    {"codellama-7b", {32 * 32 * 256 * 2, 6.7385}},
    {"codellama-13b", {40 * 40 * 256 * 2, 13.016}},
    {"tinyllama-1.1b", {22 * 4 * 128 * 2, 1.1000}},
    {"yi-6b", {32 * 4 * 256 * 2, 6.0610}},
    {"yi-34b", {60 * 8 * 256 * 2, 34.389}},
    {"deepseek-llm-7b", {30 * 32 * 256 * 2, 6.9104}},
    {"deepseek-coder-33b", {62 * 8 * 256 * 2, 33.343}},
    {"smollm2-1.7b", {24 * 32 * 128 * 2, 1.7114}},
    {"smollm3-3b", {36 * 4 * 256 * 2, 3.0751}},
    {"internlm2-20b", {48 * 8 * 256 * 2, 19.861}},
    {"internlm2.5-7b", {32 * 8 * 256 * 2, 7.7377}},
    {"granite-3.1-8b", {40 * 8 * 256 * 2, 8.1709}},
    {"olmo-2-7b", {32 * 32 * 256 * 2, 7.2986}},
    {"olmo-2-13b", {40 * 40 * 256 * 2, 13.716}},
    {"seed-oss-36b", {64 * 8 * 256 * 2, 36.151}},
    {"glm-4-9b", {40 * 2 * 256 * 2, 9.3999}},
    {"mistral-7b-v0.3", {32 * 8 * 256 * 2, 7.2480}},
    {"mistral-nemo-12b", {40 * 8 * 256 * 2, 12.248}},
    {"mistral-small-24b", {40 * 8 * 256 * 2, 23.572}},
    {"mistral-small-3.2-24b", {40 * 8 * 256 * 2, 23.572}},
    {"mistral-large-123b", {88 * 8 * 256 * 2, 122.61}},
    {"llava-1.5-7b", {32 * 32 * 256 * 2, 6.7389}},
    {"qwen1.5-7b", {32 * 32 * 256 * 2, 7.7213}},
    {"qwen1.5-72b", {80 * 64 * 256 * 2, 72.288}},
    {"qwen1.5-moe-a2.7b", {24 * 16 * 256 * 2, 14.316}},
    {"qwen2-7b", {28 * 4 * 256 * 2, 7.6156}},
    {"qwen2-72b", {80 * 8 * 256 * 2, 72.706}},
    {"qwen2.5-0.5b", {24 * 2 * 128 * 2, 0.49403}},
    {"qwen2.5-1.5b", {28 * 2 * 256 * 2, 1.5437}},
    {"qwen2.5-3b", {36 * 2 * 256 * 2, 3.0859}},
    {"qwen2.5-14b", {48 * 8 * 256 * 2, 14.770}},
    {"qwen2.5-32b", {64 * 8 * 256 * 2, 32.764}},
    {"qwen2.5-72b", {80 * 8 * 256 * 2, 72.706}},
    {"qwen3-0.6b", {28 * 8 * 256 * 2, 0.59605}},
    {"qwen3-1.7b", {28 * 8 * 256 * 2, 1.7206}},
    {"qwen3-4b", {36 * 8 * 256 * 2, 4.0225}},
    {"qwen3-8b", {36 * 8 * 256 * 2, 8.1907}},
    {"qwen3-14b", {40 * 8 * 256 * 2, 14.768}},
    {"qwen3-30b-a3b", {48 * 4 * 256 * 2, 30.532}},
    {"qwen3-coder-30b-a3b", {48 * 4 * 256 * 2, 30.532}},
    {"qwen3-235b-a22b", {94 * 4 * 256 * 2, 235.09}},
    {"qwen3-coder-480b-a35b", {62 * 8 * 256 * 2, 480.15}},
    // 36 layers keep 32 x 128 x 128 elements and 3 x (2 x 16 x 128 + 32 x 128) of convolution, in 16 bits.
    {"qwen3-next-80b-a3b", {12 * 2 * 512 * 2, 79.67, -1, 36 * (32 * 128 * 128 + 3 * 8192) * 2}},
    // 48 layers keep 48 x 128 x 128 and 3 x (2 x 16 x 128 + 48 x 128), in 32 bits: 149.6 MiB.
    {"qwen3.5-27b", {16 * 4 * 512 * 2, 26.9, -1, 48 * (48 * 128 * 128 + 3 * 10240) * 4}},
    {"gemma-2b", {18 * 1 * 512 * 2, 2.5062}},
    {"gemma-7b", {28 * 16 * 512 * 2, 8.5377}},
    {"gemma-2-2b", {26 * 4 * 512 * 2, 2.6143, 13 * 4 * 512 * 2}},
    {"gemma-2-9b", {42 * 8 * 512 * 2, 9.2417, 21 * 8 * 512 * 2}},
    {"gemma-2-27b", {46 * 16 * 256 * 2, 27.227, 23 * 16 * 256 * 2}},
    {"gemma-3-1b", {26 * 1 * 512 * 2, 0.99989, 4 * 1 * 512 * 2}},
    {"gemma-3-4b", {34 * 4 * 512 * 2, 3.8801, 5 * 4 * 512 * 2}},
    {"gemma-3-12b", {48 * 8 * 512 * 2, 11.766, 8 * 8 * 512 * 2}},
    {"gemma-3-27b", {62 * 16 * 256 * 2, 27.009, 10 * 16 * 256 * 2}},
    {"gemma-4-31b", {50 * 16 * 512 * 2 + 10 * 4 * 1024 * 2, 30.7, 10 * 4 * 1024 * 2}},
    {"gemma-4-26b-a4b", {25 * 8 * 512 * 2 + 5 * 2 * 1024 * 2, 25.2, 5 * 2 * 1024 * 2}},
    {"gemma-4-e2b", {12 * 1 * 512 * 2 + 3 * 1 * 1024 * 2, 4.65, 3 * 1 * 1024 * 2}},  // 20 of 35 layers share
    {"phi-2", {32 * 32 * 160 * 2, 2.7797}},
    {"phi-3-mini-4k", {32 * 32 * 192 * 2, 3.8211, 0}},
    {"phi-3-medium-4k", {40 * 10 * 256 * 2, 13.960, 0}},
    {"phi-3-vision-4.2b", {32 * 32 * 192 * 2, 3.8211}},
    {"phi-4-14b", {40 * 10 * 256 * 2, 14.660}},
    {"phi-3.5-moe", {32 * 8 * 256 * 2, 41.873}},
    {"mixtral-8x22b", {56 * 8 * 256 * 2, 140.62}},
    {"gpt-oss-20b", {24 * 8 * 128 * 2, 20.91, 12 * 8 * 128 * 2}},
    {"gpt-oss-120b", {36 * 8 * 128 * 2, 116.83, 18 * 8 * 128 * 2}},
    {"llama-4-scout-17b-16e", {48 * 8 * 256 * 2, 107.77, 12 * 8 * 256 * 2}},
    {"llama-4-maverick-17b-128e", {48 * 8 * 256 * 2, 400.7, 12 * 8 * 256 * 2}},
    {"deepseek-v2-lite", {27 * 576 * 2, 15.706}},
    {"deepseek-v2", {60 * 576 * 2, 235.74}},
    {"deepseek-v3", {61 * 576 * 2, 671.03}},
    {"deepseek-v3.1", {61 * 576 * 2, 671.03}},
    {"deepseek-r1", {61 * 576 * 2, 671.03}},
    {"deepseek-v3.2", {61 * (576 * 2 + 132), 671.9}},
    {"kimi-k2", {61 * 576 * 2, 1026.4}},
    {"glm-5", {78 * (576 * 2 + 132), 744}},
    {"glm-4.5-air", {46 * 8 * 256 * 2, 106.85}},
    {"glm-4.5", {92 * 8 * 256 * 2, 352.8}},
    {"glm-4.6", {92 * 8 * 256 * 2, 352.8}},
    {"minimax-m2", {62 * 8 * 256 * 2, 228.69}},
    {"minimax-m2.5", {62 * 8 * 256 * 2, 228.69}},
    {"minimax-m2.7", {62 * 8 * 256 * 2, 228.69}},
    {"falcon-7b", {32 * 1 * 128 * 2, 6.9217}},
    {"falcon-40b", {60 * 8 * 128 * 2, 41.303}},
    {"falcon-180b", {80 * 8 * 128 * 2, 178.6}},
    {"opt-125m", {12 * 12 * 128 * 2, 0.12524}},
    {"opt-1.3b", {24 * 32 * 128 * 2, 1.3158}},
    {"opt-6.7b", {32 * 32 * 256 * 2, 6.6585}},
    {"opt-30b", {48 * 56 * 256 * 2, 29.975}},
    {"opt-66b", {64 * 72 * 256 * 2, 65.717}},
    {"gpt2-124m", {12 * 12 * 128 * 2, 0.12444}},
    {"gpt-j-6b", {28 * 16 * 512 * 2, 6.0509}},
    {"gpt-neox-20b", {44 * 64 * 192 * 2, 20.555}},
    {"pythia-6.9b", {32 * 32 * 256 * 2, 6.8574}},
    {"bloom-7b1", {30 * 32 * 256 * 2, 7.0690}},
    {"bloom-176b", {70 * 112 * 256 * 2, 176.25}},
    {"mpt-7b", {32 * 32 * 256 * 2, 6.6493}},
    {"starcoder-15b", {40 * 1 * 256 * 2, 15.518}},
    {"starcoder2-15b", {40 * 4 * 256 * 2, 15.958, 0}},
    {"command-r-35b", {40 * 64 * 256 * 2, 34.981}},
    {"command-r-plus-104b", {64 * 8 * 256 * 2, 103.81}},
    {"command-r7b", {32 * 8 * 256 * 2, 8.0283, 8 * 8 * 256 * 2}},
    {"chatglm3-6b", {28 * 2 * 256 * 2, 6.2436}},
    {"baichuan2-7b", {32 * 32 * 256 * 2, 7.5060}},
    {"dbrx-132b", {40 * 8 * 256 * 2, 131.60}},
    {"olmoe-1b-7b", {16 * 16 * 256 * 2, 6.9192}},
    {"ernie-4.5-21b-a3b", {28 * 4 * 256 * 2, 21.83}},
    // 28 layers keep 8,192 x 16 elements and 3 x 8,192 of convolution.
    {"jamba-v0.1-52b", {4 * 8 * 256 * 2, 51.57, -1, 28 * (8192 * 16 + 3 * 8192) * 2}},
    // 29 layers keep 128 x 64 x 128 elements and 3 x (8,192 + 2 x 128) of convolution.
    {"bamba-9b", {3 * 8 * 256 * 2, 9.78, -1, 29 * (8192 * 128 + 3 * 8448) * 2}},
    {"falcon-mamba-7b", {0, 7.2727, -1, 64 * (8192 * 16 + 3 * 8192) * 2}},
    // 20 layers keep 32 x 128 x 128 elements in 32 bits and three convolutions of 3 x 4,096 in 16.
    {"kimi-linear-48b-a3b", {7 * 576 * 2, 49.1, -1, 20 * (32 * 128 * 128 * 4 + 3 * 3 * 4096 * 2)}},
};

std::vector<fs::path> entries() {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(BLOCKYARD_SOURCE_DIR) / "configs/models")) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

ModelSpec load(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return model_from_hf_json(text.str(), file.stem().string(), file.string());
}

}  // namespace

TEST_CASE("every model of the catalogue keeps the bytes a token that its published shape makes") {
  std::size_t found = 0;
  for (const fs::path& file : entries()) {
    const std::string name = file.stem().string();
    INFO(name);
    REQUIRE(kPublished.count(name) == 1);
    const Published& published = kPublished.at(name);
    const ModelSpec spec = load(file);
    const KvGeometry geometry = kv_geometry(spec);
    CHECK(kv_bytes_per_token(geometry, KvSplit{}).count() == published.bytes_per_token);
    CHECK(kv_bytes_per_token_beyond_windows(geometry, KvSplit{}).count() ==
          (published.beyond_windows < 0 ? published.bytes_per_token : published.beyond_windows));
    CHECK(fixed_bytes_per_sequence(geometry, KvSplit{}).count() == published.fixed);
    CHECK(kv_bytes_per_token(geometry, KvSplit{1, 1, ElementType::fp8}).count() <= published.bytes_per_token);
    CHECK(spec.source.find("huggingface.co") != std::string::npos);
    ++found;
  }
  CHECK(found == kPublished.size());
  CHECK(found >= 60);
}

TEST_CASE("every model of the catalogue has its published number of parameters") {
  for (const fs::path& file : entries()) {
    const ModelSpec spec = load(file);
    const double billions = static_cast<double>(parameter_count(spec)) / 1e9;
    INFO(spec.name << " " << billions);
    CHECK(billions == Approx(kPublished.at(spec.name).billions).epsilon(0.005));
  }
}

TEST_CASE("names of the catalogue are family, version and size in lower case") {
  const std::regex form("[a-z0-9]+([.-][a-z0-9]+)*");
  for (const fs::path& file : entries()) {
    INFO(file.stem().string());
    CHECK(std::regex_match(file.stem().string(), form));
  }
}
