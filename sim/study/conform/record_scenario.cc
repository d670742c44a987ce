#include "sim/study/conform/record_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sim/serving/assemble.h"
#include "sim/serving/engine_preset.h"
#include "sim/serving/requests.h"
#include "sim/study/conform/replay.h"

namespace blockyard::study {
namespace {

using scenario::Document;

struct Seen {
  workload::Request request;
  std::int64_t step = 0;
  Content content;
};

struct SeenRun {
  std::vector<Seen> requests;
  std::int64_t steps = 0;
  bool stopped = false;
};

void refuse_what_the_format_cannot_say(const Document& scenario, Diagnostics& errors) {
  const std::string& scheduler = scenario.choice("engine.scheduler");
  const auto refuse = [&](bool wrong, const char* key, const std::string& why) {
    if (wrong) errors.add(scenario.place(key), fmt::format("{}: {}", key, why));
  };
  refuse(scheduler != "vllm-v1" && scheduler != "vllm-v0", "engine.scheduler",
         "only vllm-v1 and vllm-v0 have a recorded form");
  refuse(scenario.choice("kv_cache.strategy") != "paged", "kv_cache.strategy", "recorded runs are of paged memory");
  const std::string& order = scenario.choice("engine.queue_order");
  refuse(order != "fcfs" && order != "priority", "engine.queue_order", "recorded runs know fcfs and priority");
  refuse(scenario.choice("admission.over_length") != "clip", "admission.over_length", "recorded runs clip outputs");
  refuse(scenario.is_set("admission.rate_limit"), "admission.rate_limit", "recorded runs turn nobody away");
  for (const char* key : {"prefix_cache.pin", "prefix_cache.quota", "prefix_cache.warm", "prefix_cache.tiers.host.size",
                          "prefix_cache.tiers.nvme.size", "prefix_cache.tiers.remote.size"}) {
    refuse(!scenario.is_word(key, "none"), key, "recorded runs have the engine's own cache; expected none");
  }
  refuse(scenario.choice("prefix_cache.admission") != "always", "prefix_cache.admission", "recorded runs cache all");
  refuse(scenario.choice("prefix_cache.salt") != "none", "prefix_cache.salt", "recorded runs share what is the same");
  refuse(scenario.choice("prefix_cache.eviction") != "lru", "prefix_cache.eviction", "recorded runs evict by lru");
  for (const char* key : {"run.max_time", "run.max_requests"}) {
    refuse(!scenario.is_word(key, "unlimited"), key, "recorded runs go on to their end; expected unlimited");
  }
  refuse(scenario.choice("run.until.metric") != "none", "run.until.metric", "recorded runs go on to their end");
  refuse(scenario.integer("hardware.data_parallel_size") > 1, "hardware.data_parallel_size",
         "recorded runs are of one engine; expected 1");
  refuse(serving::async_scheduling(scenario), "engine.async_scheduling", "recorded runs are synchronous");
  refuse(!scenario.is_word("admission.watermark", "engine"), "admission.watermark",
         "recorded runs have the engine's own");
  refuse(!scenario.is_word("admission.max_queue", "unlimited"), "admission.max_queue",
         "recorded runs turn nobody away");
  refuse(!scenario.is_word("admission.abandon_after", "never"), "admission.abandon_after",
         "recorded runs have patient clients");
  refuse(serving::asks_samples(scenario), "workload.n", "recorded runs have one sample a request");
  refuse(scenario.choice("admission.never_fits") != "engine", "admission.never_fits",
         "expected `engine`: recorded runs leave it to the engine");
}

SeenRun run_and_watch(const serving::Assembly& a) {
  SeenRun seen;
  // Contents of its own where the run has no prefix cache: all different.
  serving::PromptContents unshared;
  serving::PromptContents& contents = a.contents ? *a.contents : unshared;
  metrics::Collector collector(a.metrics);
  serving::Cluster cluster = serving::make_cluster(a, collector);
  serving::Simulation simulation(a.admission, *a.requests, cluster, *a.engines.front().memory, collector,
                                 a.contents.get(), a.clients.get());
  simulation.listen([&](const serving::ArrivalSeen& arrival) {
    Seen& s = seen.requests.emplace_back();
    s.request = *arrival.request;
    s.request.output_tokens = std::max(Tokens(1), std::min(s.request.output_tokens, s.request.max_tokens));
    s.step = arrival.step;
    if (!a.contents) unshared.arrived(arrival.id, s.request, s.request.output_tokens);
    contents.content_of(arrival.id, s.content);
  });
  seen.stopped = !simulation.run([](const serving::RunProgress&) { return true; }).stuck.empty();
  seen.steps = cluster.steps_started();
  return seen;
}

// The prompt's runs, and the id of the first output token, which follows them.
Json request_json(std::size_t index, const Seen& seen) {
  Json runs = Json::array();
  std::int64_t left = seen.request.prompt_tokens.count();
  std::int64_t first_output = 0;
  for (const TokenRun& run : seen.content) {
    const std::int64_t taken = std::min(run.count, left);
    if (taken > 0) runs.push_back({run.start, taken});
    left -= taken;
    if (taken < run.count) {
      first_output = run.start + taken;
      break;
    }
  }
  return {fmt::format("r{:07}", index),       seen.step,    seen.request.priority, seen.request.arrival.count(),
          seen.request.output_tokens.count(), first_output, std::move(runs)};
}

Json header_json(const Document& scenario, const serving::Assembly& a, const SeenRun& seen) {
  const bool v1 = scenario.choice("engine.scheduler") == "vllm-v1";
  const bool cached = a.contents != nullptr;
  Json config;
  config["policy"] = scenario.choice("engine.queue_order");
  config["block_size"] = scenario.tokens("kv_cache.block_size").count();
  config["num_gpu_blocks"] = a.engines.front().memory->total_grains() + (v1 ? 1 : 0);
  if (!v1) config["num_cpu_blocks"] = a.host_blocks.count();
  config["max_num_seqs"] = scenario.integer("engine.max_num_seqs");
  config["max_num_batched_tokens"] = scenario.tokens("engine.max_num_batched_tokens").count();
  config["max_model_len"] = a.admission.max_model_len.count();
  if (v1) config["long_prefill_token_threshold"] = scenario.tokens("engine.long_prefill_token_threshold").count();
  config["enable_chunked_prefill"] = scenario.boolean("engine.enable_chunked_prefill");
  config["enable_prefix_caching"] = cached;
  if (v1 && serving::reserve_full_isl(scenario)) config["scheduler_reserve_full_isl"] = true;
  if (!v1) config["preemption_mode"] = scenario.choice("preemption.mode");
  config["frontend_check"] = true;
  if (seen.stopped) config["max_steps"] = seen.steps;

  Json header;
  header["format"] = v1 ? "vllm-oracle-v1/1" : "vllm-oracle-v0/1";
  header["recorded_by"] = "blockyard";
  header["name"] = a.identity.scenario;
  header["config"] = std::move(config);
  header["requests"] = Json::array();
  for (std::size_t i = 0; i < seen.requests.size(); ++i)
    header["requests"].push_back(request_json(i, seen.requests[i]));
  return header;
}

}  // namespace

Record record_scenario(const Document& scenario, const std::filesystem::path& configs) {
  Diagnostics errors;
  refuse_what_the_format_cannot_say(scenario, errors);
  errors.throw_if_any();
  const serving::Assembly a = serving::assemble(scenario, configs);
  if (!a.one_block_table) {
    throw InputError(scenario.place("kv_cache.hybrid_kv_cache_manager"),
                     "kv_cache.hybrid_kv_cache_manager: recorded runs have one block table a sequence, in which every "
                     "token stays; expected a model of layers alike that look back at everything, or off");
  }
  const SeenRun seen = run_and_watch(a);
  const Record header = read_header(header_json(scenario, a, seen), scenario.name());
  const Record record = run_header(header, StepPath::general, seen.steps + 1);
  // A run falls back to recompute when the host's pool is full; the engine dies there, and so does its record.
  if (std::ssize(record.steps) != seen.steps && scenario.choice("preemption.mode") == "swap") {
    throw InputError(
        scenario.place("preemption.swap_space"),
        fmt::format(
            "preemption.swap_space: the host's pool is full before step {}, where the engine dies; give it more",
            std::ssize(record.steps)));
  }
  CHECK_LAW(std::ssize(record.steps) == seen.steps, "the run took {} steps, its record {}", seen.steps,
            std::ssize(record.steps));
  return record;
}

}  // namespace blockyard::study
