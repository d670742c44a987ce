#include "sim/scenario/scenario_keys.h"

#include <utility>
#include <vector>

namespace blockyard::scenario {
namespace {

using Keys = std::vector<Key>;

// More requests or tokens than this are a slip of the keyboard, and would overflow sums of sums.
constexpr double kMost = 1e9;
constexpr Limits kAtLeastOne = between(1, kMost);

NameDocs with_first(NameDoc first, const NameDocs& rest) {
  NameDocs words{std::move(first)};
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}

void append(Keys& keys, Keys more) {
  for (Key& key : more) keys.push_back(std::move(key));
}

Keys served_keys(const Vocabulary& names) {
  return {
      {.path = "name", .accepts = {Kind::text}, .doc = "what reports call the run; otherwise the file's name"},
      {.path = "seed",
       .accepts = {{Kind::integer, at_least(0)}},
       .fallback = "1",
       .doc = "seed of every random stream; one named stream a purpose"},
      {.path = "model",
       .accepts = {Kind::file},
       .words = names.models,
       .required_in = "",
       .doc = "what is served: an entry of configs/models, or a file like one",
       .aliases = {"model_name", "model_path", "served_model_name"}},
      {.path = "hardware.gpu",
       .accepts = {Kind::file},
       .words = names.gpus,
       .required_in = "",
       .doc = "what it is served on: an entry of configs/gpus, or a file like one",
       .aliases = {"device", "gpu_name", "gpu_type"}},
      {.path = "hardware.tensor_parallel_size",
       .accepts = {{Kind::integer, between(1, 1024)}},
       .fallback = "1",
       .doc = "GPUs that share every layer",
       .aliases = {"tp", "tp_size", "tensor_parallel", "gpus", "num_gpus"}},
      {.path = "hardware.gpu_memory_utilization",
       .accepts = {{Kind::real, above_up_to(0, 1)}},
       .fallback = "0.9",
       .doc = "share of each GPU's memory that the engine may use",
       .aliases = {"mem_fraction_static", "gpu_memory_fraction"}},
  };
}

Keys trace_keys(const Vocabulary& names) {
  const std::string section = "workload.trace";
  return {
      {.path = section + ".file",
       .accepts = {Kind::file},
       .required_in = section,
       .doc = "the trace, plain, gzip or zstd",
       .aliases = {"trace_file", "dataset_path"}},
      {.path = section + ".format",
       .words = with_first({"auto", "by the header or the first record"}, names.trace_formats),
       .fallback = "auto",
       .doc = "how the trace is written"},
      {.path = section + ".rate_scale",
       .accepts = {{Kind::real, above_up_to(0, kMost)}},
       .fallback = "1",
       .doc = "arrival times are divided by this: 2 = twice the rate"},
      {.path = section + ".limit",
       .accepts = {{Kind::integer, between(1, 4e9)}},
       .words = {{"none", "the whole trace"}},
       .fallback = "none",
       .doc = "requests to take from the front"},
      {.path = section + ".reorder_window",
       .accepts = {{Kind::integer, between(0, kMost)}},
       .fallback = "65536",
       .doc = "rows out of order are put back if at most this many rows late"},
      {.path = section + ".bad_lengths",
       .words = {{"drop", "leave the row out and count it"},
                 {"keep", "keep rows whose output is 0 as prefill only; drop and count the others"},
                 {"fail", "stop with the row's place"}},
       .fallback = "drop",
       .doc = "what to do with rows whose lengths are zero, negative or missing"},
      {.path = section + ".max_bad_rows",
       .accepts = {{Kind::integer, between(0, kMost)}},
       .fallback = "0",
       .doc = "malformed rows left out and counted before reading fails"},
      {.path = section + ".header",
       .accepts = {Kind::boolean},
       .fallback = "true",
       .doc = "false: a CSV without header, with the columns of the named format in its order"},
      {.path = section + ".untimed",
       .words = {{"refuse", "stop with the row's place"},
                 {"keep", "rows of a session arrive when it began, others at the start"}},
       .fallback = "refuse",
       .doc = "what to do with rows that have no time of their own"},
      {.path = section + ".hash_block",
       .accepts = {{Kind::integer, between(1, 1'000'000)}},
       .words = {{"auto", "as the format has it"}},
       .fallback = "auto",
       .doc = "tokens that one of the trace's hash_ids stands for"},
      {.path = section + ".partial_ids",
       .words = {{"auto", "as the format has it"},
                 {"ceil", "one for every begun block"},
                 {"floor", "one for every full block"},
                 {"either", "both"}},
       .fallback = "auto",
       .doc = "which counts of hash_ids are right for a prompt"},
  };
}

Keys length_keys(const std::string& section, const Vocabulary& names, const std::string& what) {
  return {
      {.path = section + ".distribution",
       .words = names.length_distributions,
       .required_in = section,
       .doc = "how " + what + " are drawn"},
      {.path = section + ".mean", .accepts = {{Kind::real, above_up_to(0, kMost)}}, .doc = "mean, in tokens"},
      {.path = section + ".cv",
       .accepts = {{Kind::real, between(0, 100)}},
       .doc = "coefficient of variation: standard deviation / mean"},
      {.path = section + ".low", .accepts = {{Kind::tokens, kAtLeastOne}}, .doc = "shortest"},
      {.path = section + ".high", .accepts = {{Kind::tokens, kAtLeastOne}}, .doc = "longest"},
      {.path = section + ".value", .accepts = {{Kind::tokens, kAtLeastOne}}, .doc = "the one length"},
      {.path = section + ".max", .accepts = {{Kind::tokens, kAtLeastOne}}, .doc = "longer draws become this long"},
  };
}

Keys generate_keys(const Vocabulary& names) {
  Keys keys{
      {.path = "workload.generate.requests",
       .accepts = {{Kind::integer, between(1, 4e9)}},
       .required_in = "workload.generate",
       .doc = "how many",
       .aliases = {"num_prompts", "num_requests"}},
      {.path = "workload.generate.arrivals.process",
       .words = names.arrival_processes,
       .fallback = "poisson",
       .doc = "how gaps between arrivals are drawn"},
      {.path = "workload.generate.arrivals.rate",
       .accepts = {{Kind::rate, above_up_to(0, kMost)}},
       .required_in = "workload.generate",
       .doc = "mean rate of arrivals",
       .aliases = {"request_rate", "qps"}},
  };
  append(keys, {{.path = "workload.generate.prefix.groups",
                 .accepts = {{Kind::integer, between(1, 1e7)}},
                 .fallback = "1",
                 .doc = "shared beginnings of prompts (system prompts, documents)"},
                {.path = "workload.generate.prefix.tokens",
                 .accepts = {{Kind::tokens, kAtLeastOne}},
                 .required_in = "workload.generate.prefix",
                 .doc = "tokens of a shared beginning, counted in prompt_tokens"},
                {.path = "workload.generate.prefix.zipf",
                 .accepts = {{Kind::real, between(0, 10)}},
                 .fallback = "0",
                 .doc = "the g-th beginning is drawn in proportion to 1 / g^zipf"}});
  append(keys, {{.path = "workload.generate.n",
                 .accepts = {{Kind::integer, between(1, 256)}},
                 .fallback = "1",
                 .doc = "sequences that each request becomes after its prompt, each of output_tokens tokens"},
                {.path = "workload.generate.lengths.distribution",
                 .words = {{"histogram", "a CSV with a row a cell: ranges of prompt and output, count, means"}},
                 .required_in = "workload.generate.lengths",
                 .doc = "how prompts and outputs are drawn together, in place of prompt_tokens and output_tokens"},
                {.path = "workload.generate.lengths.file",
                 .accepts = {Kind::file},
                 .required_in = "workload.generate.lengths",
                 .doc = "the histogram"},
                {.path = "workload.generate.lengths.max_total",
                 .accepts = {{Kind::tokens, between(2, kMost)}},
                 .doc = "longest prompt + output: of a longer draw the output is cut"}});
  append(keys, length_keys("workload.generate.prompt_tokens", names, "prompt lengths"));
  append(keys, length_keys("workload.generate.output_tokens", names, "output lengths"));
  return keys;
}

Keys sample_keys() {
  return {
      {.path = "workload.n",
       .accepts = {{Kind::integer, between(1, 256)}},
       .words = {{"recorded", "what the trace or the generator says, else 1"}},
       .fallback = "recorded",
       .doc = "sequences that each request becomes after its prompt, with one copy of its blocks (paged)",
       .aliases = {"num_samples", "parallel_samples", "best_of", "beam_width"}},
      {.path = "workload.decoding",
       .words = {{"sample", "n independent samples"},
                 {"beam_search", "n beams: each takes over the past of a beam of the step before"}},
       .fallback = "sample",
       .doc = "what the n sequences of a request are"},
      {.path = "workload.beam_switch",
       .accepts = {{Kind::real, between(0, 1)}},
       .fallback = "1",
       .doc = "probability that a beam goes on from any of the request's beams, drawn alike, not from its own"},
  };
}

Keys max_tokens_keys(const Vocabulary& names) {
  return {
      {.path = "workload.max_tokens.rule",
       .words = names.max_tokens_rules,
       .fallback = "true_length",
       .doc = "what requests declare as the most they will generate"},
      {.path = "workload.max_tokens.value",
       .accepts = {{Kind::tokens, kAtLeastOne}},
       .doc = "the declaration under `constant`"},
      {.path = "workload.max_tokens.factor",
       .accepts = {{Kind::real, above_up_to(0, 1e6)}},
       .doc = "declaration / true length under `factor`"},
  };
}

Keys engine_keys(const Vocabulary& names) {
  return {
      {.path = "engine.scheduler",
       .words = names.schedulers,
       .fallback = "vllm-v1",
       .doc = "who runs next",
       .aliases = {"scheduler_type"}},
      {.path = "engine.max_num_seqs",
       .accepts = {{Kind::integer, between(1, 1e6)}},
       .fallback = "256",
       .doc = "most requests in the running batch",
       .aliases = {"max_running_requests", "max_batch_size"}},
      {.path = "engine.max_num_batched_tokens",
       .accepts = {{Kind::tokens, kAtLeastOne}},
       .fallback = "2048",
       .doc = "token budget of a step",
       .aliases = {"max_num_tokens", "chunked_prefill_size", "chunk_size"}},
      {.path = "engine.max_model_len",
       .accepts = {{Kind::tokens, between(2, kMost)}},
       .words = {{"auto", "the model's own limit"}},
       .fallback = "auto",
       .doc = "longest prompt + output",
       .aliases = {"context_length", "max_seq_len", "max_position_embeddings"}},
      {.path = "engine.enable_chunked_prefill",
       .accepts = {Kind::boolean},
       .fallback = "true",
       .doc = "cut prompts into chunks that fit the step's budget",
       .aliases = {"chunked_prefill"}},
      {.path = "engine.long_prefill_token_threshold",
       .accepts = {{Kind::tokens, between(0, kMost)}},
       .fallback = "0",
       .doc = "longest chunk of one request; 0 = no limit but the budget"},
      {.path = "engine.scheduler_reserve_full_isl",
       .accepts = {Kind::boolean},
       .fallback = "false",
       .doc = "admit a request only while all its known tokens would fit (vLLM 0.19 and later)"},
      {.path = "engine.queue_order",
       .words = names.queue_orders,
       .fallback = "fcfs",
       .doc = "who is admitted next",
       .aliases = {"scheduling_policy", "schedule_policy"}},
      {.path = "engine.async_scheduling",
       .accepts = {Kind::boolean},
       .fallback = "false",
       .doc = "a step is planned while one runs: who arrives joins one step later (vLLM 0.14 and later)"},
      {.path = "engine.fast_forward",
       .accepts = {Kind::boolean},
       .fallback = "true",
       .doc = "steps that only decode are taken on sums; false walks every step, to the same bytes"},
  };
}

Keys memory_keys(const Vocabulary& names) {
  return {
      {.path = "kv_cache.strategy",
       .words = names.strategies,
       .fallback = "paged",
       .doc = "how KV memory is handed out"},
      {.path = "kv_cache.block_size",
       .accepts = {{Kind::tokens, between(1, 65536)}},
       .fallback = "16",
       .doc = "tokens a block (paged)",
       .aliases = {"kv_block_size"}},
      {.path = "kv_cache.dtype",
       .words = with_first({"auto", "the model's own"}, names.kv_dtypes),
       .fallback = "auto",
       .doc = "number format of keys and values",
       .aliases = {"kv_cache_dtype"}},
      {.path = "kv_cache.budget",
       .accepts = {{Kind::blocks, between(1, 1e12)}, {Kind::tokens, between(1, 1e12)}, {Kind::bytes, above(0)}},
       .words = {{"auto", "what the GPU has left beside weights and activations"}},
       .fallback = "auto",
       .doc = "KV memory of a replica: blocks and tokens of the whole replica, bytes of each GPU",
       .aliases = {"num_gpu_blocks_override", "num_gpu_blocks", "kv_cache_memory_bytes", "kv_cache_memory",
                   "max_total_tokens"}},
      {.path = "kv_cache.reservation",
       .words = names.reservations,
       .fallback = "max_model_len",
       .doc = "room a request takes at admission (contiguous)"},
      {.path = "kv_cache.placement",
       .words = names.placements,
       .fallback = "buddy",
       .doc = "where a region goes (contiguous)"},
      {.path = "kv_cache.initial_tokens",
       .accepts = {{Kind::tokens, between(0, kMost)}},
       .fallback = "128",
       .doc = "room beyond the prompt that a region starts with (contiguous, reservation grow)"},
      {.path = "kv_cache.compaction",
       .accepts = {{Kind::real, between(0, 1)}},
       .words = {{"never", "regions stay where they are"},
                 {"on_failure", "when an admission or a growth finds no place although enough is free"}},
       .fallback = "never",
       .doc = "regions are moved together, at the cost of the copies (contiguous); a number: whenever 1 - largest free "
              "region / free memory exceeds it"},
      {.path = "kv_cache.page_size",
       .accepts = {{Kind::bytes, between(4096, 1 << 30)}},
       .fallback = "2 MiB",
       .doc = "physical pages of a GPU: 64 KiB, 128 KiB, 256 KiB, 2 MiB (virtual)"},
      {.path = "kv_cache.keep_pages",
       .accepts = {Kind::boolean},
       .fallback = "true",
       .doc = "pages of a request that has ended stay mapped for the next one (virtual)"},
      {.path = "kv_cache.map_cost",
       .accepts = {{Kind::time, between(0, 1)}},
       .words = {{"auto", "as measured for vAttention: 40 us for 2 MiB, 8 to 9 us for smaller pages"}},
       .fallback = "auto",
       .doc = "time to map a page, added to the step (virtual)"},
      {.path = "kv_cache.unmap_cost",
       .accepts = {{Kind::time, between(0, 1)}},
       .words = {{"auto", "as measured for vAttention: 34 us for 2 MiB, 2 to 4 us for smaller pages"}},
       .fallback = "auto",
       .doc = "time to unmap a page, added to the step (virtual)"},
      {.path = "prefix_cache.enable",
       .accepts = {Kind::boolean},
       .words = {{"auto", "if the workload says what prompts share"}},
       .fallback = "auto",
       .doc = "full blocks are found again by their content (paged)",
       .aliases = {"enable_prefix_caching"}},
      {.path = "prefix_cache.eviction",
       .words = names.evictions,
       .fallback = "lru",
       .doc = "which cached block without an owner goes when room is needed"},
      {.path = "prefix_cache.ttl",
       .accepts = {{Kind::time, above(0)}},
       .fallback = "300 s",
       .doc = "how long blocks without an owner stay, under the eviction ttl"},
      {.path = "preemption.mode",
       .words = names.preemption_modes,
       .fallback = "recompute",
       .doc = "how a preempted request regains its KV",
       .aliases = {"preemption_mode"}},
      {.path = "preemption.swap_space",
       .accepts = {{Kind::bytes, at_least(0)}},
       .fallback = "4 GiB",
       .doc = "host memory for swapped KV, of each GPU (mode swap)",
       .aliases = {"swap_space", "num_cpu_blocks"}},
      {.path = "preemption.victim", .words = names.victims, .fallback = "engine", .doc = "who is preempted"},
      {.path = "admission.max_queue",
       .accepts = {{Kind::integer, between(1, 4e9)}},
       .words = {{"unlimited", "nobody is turned away for a full queue"}},
       .fallback = "unlimited",
       .doc = "most requests waiting; more are rejected",
       .aliases = {"max_queue_size", "max_queued_requests"}},
      {.path = "admission.watermark",
       .accepts = {{Kind::real, between(0, 1)}, {Kind::blocks, between(0, 1e12)}},
       .words = {{"engine", "the scheduler's own rule"}},
       .fallback = "engine",
       .doc = "memory kept free at admission: a share of the pool or a number of blocks"},
      {.path = "admission.never_fits",
       .words = {{"reject", "at arrival, with the reason"}, {"engine", "as the engine does"}},
       .fallback = "reject",
       .doc = "what happens to a request that the whole pool cannot hold"},
      {.path = "admission.abandon_after",
       .accepts = {{Kind::time, above(0)}},
       .words = {{"never", "clients wait for ever"}},
       .fallback = "never",
       .doc = "clients leave that have waited this long without a first token"},
  };
}

Keys outcome_keys(const Vocabulary& names) {
  return {
      {.path = "cost.model", .words = names.cost_models, .fallback = "roofline", .doc = "how long a step takes"},
      {.path = "cost.step", .accepts = {{Kind::time, above_up_to(0, 3600)}}, .doc = "every step's duration (fixed)"},
      {.path = "cost.calibration",
       .words = {{"auto", "the constants in the GPU's entry"}},
       .fallback = "auto",
       .doc = "where the constants of the roofline come from"},
      {.path = "cost.host_time",
       .accepts = {{Kind::time, between(0, 3600)}},
       .fallback = "0 s",
       .doc = "the host's own time in every step, added to the model's"},
      {.path = "cost.attention_slowdown",
       .accepts = {{Kind::real, between(0, 100)}},
       .fallback = "0",
       .doc = "attention of decodes takes 1 + this times as long: what reading KV through a block table costs"},
      {.path = "slo.ttft", .accepts = {{Kind::time, above(0)}}, .doc = "longest time to the first token"},
      {.path = "slo.tpot", .accepts = {{Kind::time, above(0)}}, .doc = "longest time per output token after the first"},
      {.path = "slo.e2e", .accepts = {{Kind::time, above(0)}}, .doc = "longest time to the last token"},
      {.path = "output.timeseries_interval",
       .accepts = {{Kind::time, above(0)}},
       .fallback = "1 s",
       .doc = "one row of timeseries.csv covers this long"},
      {.path = "output.memory_events",
       .accepts = {Kind::boolean},
       .fallback = "false",
       .doc = "with --out, write memory.csv: a row for each change of the KV pool (slower: every step is walked)"},
  };
}

}  // namespace

Schema scenario_schema(const Vocabulary& vocabulary) {
  Keys keys = served_keys(vocabulary);
  append(keys, trace_keys(vocabulary));
  append(keys, generate_keys(vocabulary));
  append(keys, sample_keys());
  append(keys, max_tokens_keys(vocabulary));
  append(keys, engine_keys(vocabulary));
  append(keys, memory_keys(vocabulary));
  append(keys, outcome_keys(vocabulary));
  return {"scenario",
          std::move(keys),
          {{"hardware", "the GPUs of a replica"},
           {"workload", "the requests: one of trace and generate"},
           {"workload.trace", "a recorded trace"},
           {"workload.generate", "requests drawn from distributions"},
           {"workload.generate.arrivals", "when they come"},
           {"workload.generate.prompt_tokens", "how long prompts are"},
           {"workload.generate.output_tokens", "how long outputs are"},
           {"workload.max_tokens", "what requests declare as their longest output"},
           {"engine", "the engine, under its own flag names"},
           {"workload.generate.prefix", "beginnings that prompts share"},
           {"workload.generate.lengths", "lengths of prompts and outputs drawn together"},
           {"kv_cache", "KV memory"},
           {"prefix_cache", "what is kept of requests that have ended"},
           {"preemption", "what happens when a running request needs memory and there is none"},
           {"admission", "who is let in"},
           {"cost", "how long things take"},
           {"slo", "limits that a good request meets, all of those given"},
           {"output", "what is written"}}};
}

}  // namespace blockyard::scenario
