// libFuzzer: any bytes as a scenario. They end in a document or in an InputError. The keys are the real ones, the names
// of policies a few of each table: so that the rooms that own the tables need not be built for it.
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "sim/base/check.h"
#include "sim/base/diagnostics.h"
#include "sim/scenario/load.h"
#include "sim/scenario/scenario_keys.h"

namespace {

using namespace blockyard;

NameDocs words(std::initializer_list<const char*> names) {
  NameDocs docs;
  for (const char* name : names) docs.push_back({name, "a word"});
  return docs;
}

scenario::Vocabulary vocabulary() {
  return {.models = words({"llama-3-8b", "qwen2.5-7b"}),
          .gpus = words({"a100-80gb-sxm", "l40s"}),
          .trace_formats = words({"azure", "mooncake"}),
          .arrival_processes = words({"poisson", "gamma", "constant"}),
          .length_distributions = words({"lognormal", "constant", "uniform"}),
          .max_tokens_rules = words({"true_length", "constant", "factor", "model_limit", "recorded"}),
          .schedulers = words({"vllm-v1", "vllm-v0"}),
          .engine_presets = words({"vllm-0.13", "vllm-0.19"}),
          .queue_orders = words({"fcfs", "priority"}),
          .routers = words({"vllm", "round_robin"}),
          .strategies = words({"paged", "contiguous", "virtual"}),
          .reservations = words({"max_model_len", "grow"}),
          .placements = words({"buddy", "first_fit"}),
          .evictions = words({"lru", "opt"}),
          .cache_admissions = words({"always"}),
          .kv_dtypes = words({"bf16", "fp8"}),
          .preemption_modes = words({"recompute", "swap"}),
          .victims = words({"engine", "latest"}),
          .cost_models = words({"roofline", "fixed"})};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const scenario::Schema kSchema = scenario::scenario_schema(vocabulary());
  try {
    (void)scenario::parse({reinterpret_cast<const char*>(data), size}, "fuzz.yaml", kSchema);
  } catch (const InputError& error) {
    CHECK_LAW(!error.diagnostics().empty(), "an error that says nothing");
  }
  return 0;
}
