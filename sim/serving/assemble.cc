#include "sim/serving/assemble.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/cost/cuda_graphs.h"
#include "sim/cost/fixed_step.h"
#include "sim/cost/host_time.h"
#include "sim/cost/roofline.h"
#include "sim/model/sizing.h"
#include "sim/sched/schedulers.h"
#include "sim/sched/vllm_v0.h"
#include "sim/sched/waiting_queue.h"
#include "sim/serving/admission_options.h"
#include "sim/serving/cache_options.h"
#include "sim/serving/client_options.h"
#include "sim/serving/engine_preset.h"
#include "sim/serving/hardware.h"
#include "sim/serving/memory_options.h"
#include "sim/serving/pipeline_options.h"
#include "sim/serving/preemption_options.h"
#include "sim/serving/replica_options.h"
#include "sim/serving/requests.h"
#include "sim/serving/restore_cost.h"
#include "sim/serving/sample_options.h"
#include "sim/serving/served.h"
#include "sim/serving/slo_options.h"
#include "sim/serving/tier_options.h"

namespace blockyard::serving {
namespace {

using scenario::Document;
using scenario::Kind;

// The keys and the values of a layer lie apart, and each is copied on its own, as in vLLM.
constexpr std::int64_t kCopiesPerLayer = 2;

sched::RunningFirstOptions engine_options(const Document& scenario, const Served& s, Diagnostics& errors) {
  sched::RunningFirstOptions options;
  options.max_num_seqs = scenario.integer("engine.max_num_seqs");
  options.max_num_batched_tokens = scenario.tokens("engine.max_num_batched_tokens");
  options.max_model_len = s.max_model_len;
  options.long_prefill_token_threshold = scenario.tokens("engine.long_prefill_token_threshold");
  options.chunked_prefill = scenario.boolean("engine.enable_chunked_prefill");
  options.reserve_full_isl = reserve_full_isl(scenario);
  options.queue_order = scenario.choice("engine.queue_order");
  // Each change of the pool has its owner only where sequences are walked one by one.
  options.fast_forward = scenario.boolean("engine.fast_forward") && !scenario.boolean("output.memory_events");
  options.batches_under_way = s.stages;
  options.queue = queue_options(scenario, errors);
  if (!sched::traits_of(scenario.choice("engine.scheduler")).needs_budget_for_seqs) return options;
  // Limits that the engine itself enforces at its start.
  if (options.max_num_batched_tokens < Tokens(options.max_num_seqs)) {
    errors.add(scenario.place("engine.max_num_batched_tokens"),
               fmt::format("engine.max_num_batched_tokens: {} is below engine.max_num_seqs = {}; every running request "
                           "needs a token a step",
                           options.max_num_batched_tokens.count(), options.max_num_seqs));
  }
  if (!options.chunked_prefill && options.max_num_batched_tokens < options.max_model_len) {
    errors.add(scenario.place("engine.enable_chunked_prefill"),
               fmt::format("engine.enable_chunked_prefill: without it engine.max_num_batched_tokens = {} must reach "
                           "max_model_len = {}",
                           options.max_num_batched_tokens.count(), options.max_model_len.count()));
  }
  return options;
}

std::unique_ptr<cost::CostModel> cost_model(const Document& scenario, const Served& s, const cost::Constants& constants,
                                            Diagnostics& errors) {
  if (scenario.choice("cost.model") == "fixed") {
    if (!scenario.has_value("cost.step")) {
      errors.add(scenario.place("cost"), "cost.step: the fixed cost model needs it, for example `step: 20 ms`");
      return cost::make_fixed(SimTime(s.stages), s.stages);
    }
    return cost::make_fixed(std::max(scenario.time("cost.step"), SimTime(s.stages)), s.stages);
  }
  cost::RooflineOptions options;
  options.parallelism.tensor = s.tensor_parallel;
  if (s.shares_experts()) options.parallelism.data = s.replicas;
  options.stages = s.stages;
  if (s.stages > 1) options.stage_link = stage_link(scenario);
  options.parallelism.experts = scenario.boolean("hardware.enable_expert_parallel");
  const std::string& links = scenario.choice("hardware.gpu_links");
  if (links == "nvlink_pairs") options.parallelism.links = cost::GpuLinks::nvlink_pairs;
  if (links == "pcie") options.parallelism.links = cost::GpuLinks::pcie;
  if (links == "nvlink_pairs" && s.gpu.spec.gpu_link_bytes_per_s == 0)
    errors.add(scenario.place("hardware.gpu_links"), "hardware.gpu_links: " + s.gpu.spec.name + " has no NVLink");
  options.largest_graph =
      scenario.boolean("engine.enforce_eager") ? 0 : cost::largest_cuda_graph(scenario.integer("engine.max_num_seqs"));
  options.kv_dtype = s.kv_dtype;
  options.attention_slowdown = scenario.real("cost.attention_slowdown");
  options.table_tokens = std::min<std::int64_t>(65536, scenario.tokens("engine.max_num_batched_tokens").count());
  options.engine = constants.engine;
  return cost::make_roofline(s.model, s.gpu.spec, constants.calibration, options);
}

// What KV of a replica goes over when it leaves its GPUs.
struct HostWays {
  bool link = false;
  bool swaps = false;
  std::optional<TierPathsOptions> tiers;
  Bytes block_bytes;  // of one GPU
  Tokens longest_chunk;
};

EngineParts engine_parts(const Document& scenario, const Served& s, sched::EngineOptions options, const HostWays& ways,
                         cost::CostModel& cost, Diagnostics& errors) {
  EngineParts parts;
  if (ways.link) parts.host_link = std::make_unique<cost::HostLink>(host_link(scenario, s.gpu.spec));
  if (ways.tiers) {
    TierSetup tiers = tier_setup(scenario, *ways.tiers, *parts.host_link, cost, errors);
    options.memory.tiers = tiers.options;
    parts.tier_paths = std::move(tiers.paths);
  }
  if (ways.swaps) {
    parts.swap_path =
        std::make_unique<SwapPath>(*parts.host_link, ways.block_bytes, kCopiesPerLayer * s.model.num_hidden_layers);
    options.link = parts.swap_path.get();
  }
  parts.restore_cost = std::make_unique<RestoreCost>(cost, ways.longest_chunk, parts.swap_path.get());
  options.restore_cost = parts.restore_cost.get();
  errors.throw_if_any();
  sched::Engine made = sched::make_engine(scenario.choice("engine.scheduler"), options);
  parts.memory = std::move(made.memory);
  parts.scheduler = std::move(made.scheduler);
  return parts;
}

bool keeps_state(const model::ModelSpec& spec) {
  return std::ranges::any_of(model::layer_groups(spec),
                             [](const model::LayerGroup& group) { return group.kind == model::LayerKind::recurrent; });
}

}  // namespace

Cluster make_cluster(const Assembly& a, metrics::Collector& collector) {
  Cluster cluster(a.router.get());
  for (const EngineParts& each : a.engines)
    cluster.add(a.replica, *each.scheduler, *each.memory, *a.cost, collector, a.contents.get());
  if (a.steps_together) cluster.step_together(*a.cost);
  return cluster;
}

Assembly assemble(const Document& scenario, const std::filesystem::path& configs, const RequestsOverride* given,
                  const cost::Constants* constants, const CacheRecording& recording) {
  Diagnostics errors;
  Assembly a;
  const std::string& strategy = scenario.choice("kv_cache.strategy");
  const bool paged = strategy == "paged";
  const bool asks = given != nullptr ? given->asks_samples : asks_samples(scenario);
  const bool forks = asks && sched::traits_of(scenario.choice("engine.scheduler")).can_fork;
  const std::optional<Served> maybe = served(scenario, configs, errors);
  bool cached = prefix_caching(scenario, given);
  if (cached && maybe && scenario.is_word("prefix_cache.enable", "auto") && keeps_state(maybe->model)) {
    cached = false;
    a.identity.notes.push_back(
        fmt::format("prefix_cache.enable: auto is off for {}, as in vLLM: an engine keeps no recurrent state of a "
                    "prefix unless asked",
                    maybe->model.name));
  }
  if (cached) a.contents = std::make_unique<PromptContents>(cache_salt(scenario));
  Requests requests;
  const ClientOptions clients = client_options(scenario, errors, a.identity.notes);
  a.limits = run_limits(scenario, errors);
  try {
    workload::ContentStore* const store = cached ? &a.contents->store() : nullptr;
    if (given != nullptr) {
      requests = given->make(store);
      requests.expected = given->expected;
    } else {
      requests = make_requests(scenario, maybe ? maybe->max_model_len : Tokens(1), store, errors);
    }
    if (requests.source != nullptr) set_classes(scenario, requests, errors);
  } catch (const InputError& error) {
    errors.add_all(error);
  }
  errors.throw_if_any();  // what follows needs a model that the GPUs can split
  const Served& s = *maybe;

  check_pipeline(scenario, asks, errors);
  check_replicas(scenario, s, cached, errors);
  const Pool pool = pool_of(scenario, s, cached, forks, errors);
  const BlockLayout& blocks = pool.blocks;
  const model::MemoryBudget& memory_budget = pool.budget;
  const sched::RunningFirstOptions engine = engine_options(scenario, s, errors);
  errors.throw_if_any();

  a.constants =
      constants != nullptr ? *constants : load_constants(scenario, s.gpu, {s.model.name, s.replicas * s.gpus()});
  a.cost = cost_model(scenario, s, a.constants, errors);
  const SimTime host_time = to_time(a.constants.engine.per_step_s);
  if (host_time > SimTime(0)) a.cost = cost::with_host_time(std::move(a.cost), host_time);
  const std::string& scheduler = scenario.choice("engine.scheduler");
  const sched::SchedulerTraits& traits = sched::traits_of(scheduler);
  if (traits.paged_only && scenario.boolean("output.memory_events")) {
    errors.add(scenario.place("output.memory_events"),
               fmt::format("output.memory_events: {} does not tell the changes of its pool", scheduler));
  }
  if (traits.paged_only && !paged) {
    errors.add_does_not_fit(scenario.place("kv_cache.strategy"),
                            fmt::format("kv_cache.strategy: {} works on paged memory alone", scheduler));
  }
  // The engine keeps one null block, so that a budget of N blocks serves N - 1.
  const bool null_block = paged && traits.null_block;
  const Tokens block_size = blocks.block_size;
  const Tokens usable =
      paged ? block_size * (memory_budget.blocks.count() - (null_block ? 1 : 0)) : memory_budget.tokens;
  if (usable <= Tokens(0)) {
    errors.add_does_not_fit(scenario.place("kv_cache.budget"),
                            "kv_cache.budget: no block is left beside the engine's null block");
  }
  if (kv::traits_of_strategy(strategy).pages && memory_budget.kv_bytes < scenario.bytes("kv_cache.page_size")) {
    errors.add_does_not_fit(scenario.place("kv_cache.page_size"),
                            "kv_cache.page_size: a page is larger than the KV memory of a GPU");
  }

  sched::EngineOptions options;
  options.batch = engine;
  options.strategy = strategy;
  const ServedMemory memory{&s.model,   &s.gpu.spec,   s.tensor_parallel, s.max_model_len,
                            s.kv_dtype, memory_budget, pool.stage,        pool.token_bytes,
                            blocks,     usable,        s.longest_chunk};
  options.memory = memory_options(scenario, memory);
  options.memory.contents = a.contents.get();
  if (asks) sample_options(scenario, cached, options, a.identity.notes, errors);
  if (asks && !forks && clients.mode != ClientMode::open) {
    errors.add(scenario.place("workload.clients"),
               fmt::format("workload.clients: {} makes a request of each sample, and a client cannot wait for all of "
                           "them; expected mode: open, or workload.n: 1",
                           scheduler));
  }
  if (traits.whole_block_chunks && cached && scenario.boolean("engine.enable_chunked_prefill") &&
      engine.max_num_batched_tokens < block_size) {
    errors.add(
        scenario.place("engine.max_num_batched_tokens"),
        fmt::format("engine.max_num_batched_tokens: under its prefix cache {} computes whole blocks; expected at "
                    "least {}, kv_cache.block_size",
                    scheduler, block_size.count()));
  }
  preemption_options(scenario, options, errors);
  note_queue_order(scenario, cached, a.identity.notes);
  a.identity.notes.insert(a.identity.notes.end(), blocks.notes.begin(), blocks.notes.end());
  if (cached) {
    options.memory.eviction =
        cache_eviction(scenario, traits.own_eviction, s.model, s.max_model_len, recording, a.identity, errors);
  }
  const bool swaps = sched::mode_swaps(options.mode);
  const std::int64_t block_bytes = block_size.count() * memory_budget.bytes_per_token.count();  // of one GPU
  HostWays ways;
  ways.link = swaps || (cached && asks_tiers(scenario));
  ways.swaps = swaps;
  ways.block_bytes = Bytes(block_bytes);
  ways.longest_chunk = engine.max_num_batched_tokens;
  if (cached && asks_tiers(scenario) && !traits.own_eviction && !recording.first_run) {
    ways.tiers.emplace();
    ways.tiers->block_bytes = ways.block_bytes;
    ways.tiers->gpus = s.tensor_parallel;
    ways.tiers->copies_per_block = kCopiesPerLayer * s.model.num_hidden_layers;
    ways.tiers->longest_chunk = ways.longest_chunk;
  }
  options.watermark =
      usable > Tokens(0)
          ? watermark(scenario, paged ? block_size : scenario.tokens("kv_cache.block_size"), usable, errors)
          : std::nullopt;
  if (!options.watermark && traits.own_watermark > 0) options.watermark = traits.own_watermark;
  if (swaps) {
    if (cached && traits.own_preemption) {
      errors.add(scenario.place("preemption.mode"),
                 fmt::format("preemption.mode: swaps of {} are not combined with prefix caching "
                             "(prefix_cache.enable: false)",
                             scheduler));
    }
    if (cached && options.overlap) {
      errors.add(scenario.place("preemption.overlap"),
                 "preemption.overlap: what is copied back beside steps would be found in the prefix cache before it is "
                 "there; expected false, or prefix_cache.enable: false");
    }
    if (cached) {
      a.identity.notes.emplace_back(
          "what the prefix cache has of a swapped-out request saves copying it back; prefill saved counts it as "
          "computing");
    }
    options.host_blocks = Blocks(scenario.bytes("preemption.swap_space").count() / block_bytes);
    if (options.host_blocks == Blocks(0)) {
      a.identity.notes.push_back(
          fmt::format("preemption.swap_space holds no block of {} bytes: all victims are recomputed", block_bytes));
    }
  }
  if (forks && (swaps || options.batch.tail_blocks > Tokens(0))) {
    errors.add(
        scenario.place("preemption.mode"),
        "preemption: requests of several samples are recomputed whole; expected mode: recompute, tail_blocks: false");
  }
  if (options.batch.tail_blocks > Tokens(0) && cached) {
    errors.add(scenario.place("preemption.tail_blocks"),
               "preemption.tail_blocks: not combined with prefix caching (prefix_cache.enable: false)");
  }
  a.engines.reserve(static_cast<std::size_t>(s.replicas));
  for (std::int64_t i = 0; i < s.replicas; ++i)
    a.engines.push_back(engine_parts(scenario, s, options, ways, *a.cost, errors));
  const kv::Memory& one_memory = *a.engines.front().memory;
  if (s.replicas > 1) a.router = make_router(scenario.choice("engine.router"), a.engines.size());
  a.steps_together = s.shares_experts();
  a.host_blocks = options.host_blocks;
  a.one_block_table = blocks.tables.empty();
  if (cached) {
    std::vector<kv::Memory*> pools;
    pools.reserve(a.engines.size());
    for (const EngineParts& each : a.engines) pools.push_back(each.memory.get());
    a.warm_hash_block = warm_cache(scenario, *a.contents, pools, a.identity, errors);
  }
  errors.throw_if_any();
  a.replica.block_bytes = block_bytes * s.tensor_parallel;
  a.replica.swaps = swaps;
  a.metrics.host_capacity = Bytes(s.replicas * a.host_blocks.count() * a.replica.block_bytes);

  a.longest_chunk = engine.max_num_batched_tokens;
  a.replica.token_bytes = memory_budget.bytes_per_token.count() * s.tensor_parallel;
  a.replica.memory_times = memory_times(scenario, memory);

  a.admission = admission_options(scenario);
  a.admission.max_model_len = s.max_model_len;
  if (forks) a.admission.seats = engine.max_num_seqs;
  a.admission.arrivals_overtake = sched::arrivals_overtake(scenario.choice("engine.queue_order"));
  a.admission.longest_sequence =
      s.max_model_len + (traits.takes_whole_len ? sched::VllmV0::kBeyondMaxModelLen : Tokens(0));
  a.admission.longest_prompt = a.admission.longest_sequence - Tokens(1);
  a.admission.watermark_grains =
      static_cast<std::int64_t>(options.watermark.value_or(0) * static_cast<double>(one_memory.total_grains()));
  a.admission.front_end = a.metrics.front_end = to_time(a.constants.front_end_s);
  a.replica.fast_forward = engine.fast_forward;
  a.replica.async_scheduling = async_scheduling(scenario);

  a.requests = std::move(requests.source);
  a.mode = clients.mode;
  a.replica.tells_ends = clients.closed() || a.limits.count_ends();
  if (clients.closed()) a.clients = std::make_unique<Clients>(clients, *a.requests);
  a.trace = requests.trace;
  a.expected_requests = requests.expected;

  a.metrics.timeseries_interval = a.metrics.peak_interval = scenario.time("output.timeseries_interval");
  a.metrics.slo = slo(scenario);
  a.metrics.slo_classes = slo_classes(scenario);
  a.metrics.window_from = a.limits.warm_up;
  a.metrics.gap_threshold = gap_threshold(scenario);
  a.metrics.slot_bytes = a.replica.token_bytes;
  if (kv::traits_of_strategy(strategy).pages) {
    a.metrics.slot_bytes = options.memory.page_geometry.piece_bytes().count() * s.tensor_parallel;
  } else if (!blocks.tables.empty()) {
    a.metrics.slot_bytes = blocks.piece_bytes.count() * s.tensor_parallel;
  }
  a.metrics.replicas = s.replicas;
  a.metrics.capacity_slots = s.replicas * one_memory.total_pieces();

  a.identity.scenario = scenario.has_value("name") ? scenario.text("name") : scenario.name();
  a.identity.seed = static_cast<std::uint64_t>(scenario.integer("seed"));
  a.identity.model = s.model.name;
  a.identity.gpu = s.gpu.spec.name;
  a.identity.gpus = s.replicas * s.gpus();
  a.metrics.pipeline_stages = s.stages;
  a.identity.provenance.push_back(a.cost->provenance());
  if (a.constants.front_end_s > 0) {
    const bool http = scenario.is_word("cost.front_end", "http") && constants == nullptr;
    a.identity.provenance.push_back(fmt::format("front end: {:.4g} ms a request{}", 1e3 * a.constants.front_end_s,
                                                http ? ", fitted to three servers of vLLM 0.15 over HTTP" : ""));
  }
  if (s.max_model_len > Tokens(s.model.max_position_embeddings)) {
    a.identity.notes.push_back(
        fmt::format("engine.max_model_len = {} goes beyond the {} positions that {} was made for",
                    s.max_model_len.count(), s.model.max_position_embeddings, s.model.name));
  }
  if (scenario.is("kv_cache.budget", Kind::bytes)) {
    const Bytes each = scenario.bytes("kv_cache.budget");
    if (s.gpus() > 1) a.identity.notes.emplace_back("kv_cache.budget in bytes is that of each GPU");
    if (each > s.gpu.spec.memory_bytes) {
      a.identity.notes.push_back(fmt::format("kv_cache.budget = {:.2f} GiB is more than the {:.2f} GiB of a {}",
                                             gib(each), gib(s.gpu.spec.memory_bytes), s.gpu.spec.name));
    }
  }
  if (kv::traits_of_strategy(strategy).pages) {
    const kv::PageGeometry& pages = options.memory.page_geometry;
    a.identity.notes.push_back(
        fmt::format("{} pages on each GPU; a sequence grows by {} pages for at most {} tokens, a "
                    "page in each layer's keys and values",
                    options.memory.pages, pages.pages_for(Tokens(1)), pages.filled(Tokens(1)).count()));
  }
  if (s.stages > 1) {
    const bool part = kv::traits_of_strategy(strategy).pages || !blocks.tables.empty();
    a.identity.notes.push_back(fmt::format(
        "{} pipeline stages of {} GPU{}, at most {} batches under way; the fewest blocks fit on layers {} to {}{}",
        s.stages, s.tensor_parallel, s.tensor_parallel > 1 ? "s" : "", s.stages, pool.stage.first, pool.stage.last - 1,
        part ? ": memory is that stage's" : ", and every stage holds as many"));
    if (preset_of(scenario).async_scheduling && scenario.is_word("engine.async_scheduling", "auto")) {
      a.identity.notes.push_back(
          fmt::format("{} schedules asynchronously on one stage; with several, a batch is planned "
                      "when the oldest comes back, as in vLLM 0.14",
                      scenario.choice("engine.preset")));
    }
  }
  if (const auto usual = model::default_batch(s.gpu.spec);
      scheduler == "vllm-v1" && usual.tokens > engine.max_num_batched_tokens &&
      !scenario.is_set("engine.max_num_batched_tokens") && !scenario.is_set("engine.max_num_seqs")) {
    a.identity.notes.push_back(fmt::format(
        "a step takes {} tokens and {} sequences, the defaults here; `vllm serve` takes {} and {} on this GPU "
        "unless told otherwise (engine.max_num_batched_tokens, engine.max_num_seqs)",
        engine.max_num_batched_tokens.count(), engine.max_num_seqs, usual.tokens.count(), usual.sequences));
  }
  if (traits.whole_prompts && engine.chunked_prefill) {
    a.identity.notes.push_back(fmt::format(
        "{} with engine.enable_chunked_prefill mixes prompts and decodes in a step, much as vllm-v1 does; by "
        "default that engine does not (but for contexts above 32,768 tokens): its prompts go first, whole, "
        "in steps of their own",
        scheduler));
  }
  if (s.replicas > 1) {
    a.identity.notes.push_back(fmt::format(
        "{} replicas of {} GPU{} each behind the router {}; seats, token budget and KV memory are each replica's{}",
        s.replicas, s.gpus(), s.gpus() > 1 ? "s" : "", scenario.choice("engine.router"),
        s.shares_experts() ? "; they share the experts, and take their steps together" : ""));
  }
  if (!blocks.tables.empty()) {
    a.identity.notes.push_back(describe(blocks, memory_budget.blocks, s.max_model_len));
  }
  if (null_block) {
    a.identity.notes.push_back(fmt::format("KV budget{} {} blocks of {} tokens; the engine's null block leaves {}",
                                           s.replicas > 1 ? " of each replica" : "", memory_budget.blocks.count(),
                                           block_size.count(), memory_budget.blocks.count() - 1));
  }
  return a;
}

}  // namespace blockyard::serving
