#include "tests/serving/random_scenario.h"

#include <rapidcheck.h>

#include <algorithm>

#include "sim/kv/eviction/policies.h"
#include "sim/sched/preemption/victim.h"

namespace blockyard::serving_tests {
namespace {

template <class... Values>
std::string one_of(const char* first, Values... rest) {
  return *rc::gen::elementOf(std::vector<std::string>{first, rest...});
}

// Over the whole range from the first case on: small scenarios are short of nothing.
std::int64_t number(std::int64_t low, std::int64_t high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(low, high + 1));
}

struct Lines {
  std::string text;
  template <class... Values>
  void add(fmt::format_string<Values...> line, Values&&... values) {
    text += fmt::format(line, std::forward<Values>(values)...) + '\n';
  }
};

std::string victim() {
  std::vector<std::string> names(3, "engine");
  for (const NameDoc& name : sched::victims()) names.push_back(name.name);
  return *rc::gen::elementOf(names);
}

// `most_samples`: of a request; 1 = the trace has no column for them.
std::shared_ptr<const TraceFile> random_trace(std::int64_t max_model_len, std::int64_t most_samples, Loop loop) {
  const bool delays = loop == Loop::closed && number(0, 3) > 0;
  const bool sessions = delays || number(0, 3) == 0;
  const bool several = most_samples > 1;
  std::vector<Row> rows;
  SimTime arrival;
  const std::int64_t n = number(1, 40);
  for (std::int64_t i = 0; i < n; ++i) {
    // Steps of the fixed cost model take 10 ms: some arrive as one ends, some in the middle, some long after.
    arrival += *rc::gen::elementOf(std::vector<SimTime>{SimTime(0), SimTime(0), SimTime(0), SimTime(1), milliseconds(1),
                                                        milliseconds(10), SimTime(7'300'001), milliseconds(50),
                                                        milliseconds(900)});
    const std::int64_t longest = number(0, 9) == 0 ? max_model_len + 2 : std::max<std::int64_t>(1, max_model_len / 2);
    const std::int64_t output = number(1, number(0, 9) == 0 ? max_model_len + 5 : 40);
    const std::int64_t declared = std::max<std::int64_t>(1, output + *rc::gen::element(0, 0, 9, -3));
    std::string rest = fmt::format(",{},{},{}", declared, number(0, 2), number(0, 2));
    rest += sessions ? fmt::format(",{},{},{}", number(0, 2), number(1, 3), number(0, max_model_len / 2)) : "";
    rest += several ? fmt::format(",{}", number(1, most_samples)) : "";
    rest += delays ? one_of(",", ",0", ",0.000000001", ",0.01", ",0.025", ",3") : "";
    rows.push_back({arrival, number(1, longest), output, rest});
  }
  const std::string columns =
      sessions ? ",max_tokens,priority,tenant,session,prefix_id,prefix_tokens" : ",max_tokens,priority,tenant";
  return std::make_shared<TraceFile>(rows, columns + (several ? ",n" : "") + (delays ? ",delay_s" : ""));
}

void add_clients(Lines& out, bool generated) {
  out.add("  clients:");
  if (!generated && number(0, 1) == 0) {
    out.add("    users: {}\n    think_time: {}\n    think_cv: {}", number(1, 9),
            one_of("0 s", "1 ns", "10 ms", "0.3 s"), one_of("0", "1", "3"));
    return;
  }
  out.add("    mode: {}", one_of("auto", "open", "sessions"));
  out.add("    max_concurrency: {}", one_of("unlimited", "1", "2", "7"));
}

void add_generated(Lines& out, std::int64_t max_model_len) {
  out.add("  generate:");
  out.add("    requests: {}", number(1, 60));
  out.add("    arrivals: {{process: {}, rate: {} req/s}}", one_of("poisson", "constant"),
          one_of("2", "50", "100", "1000"));
  out.add("    prompt_tokens: {{distribution: uniform, low: 1, high: {}}}", number(1, max_model_len));
  out.add("    output_tokens: {{distribution: lognormal, mean: {}, cv: 1.0, max: {}}}", number(1, 30), max_model_len);
  if (number(0, 2) == 0) {
    out.add("    prefix: {{groups: {}, tokens: {}, zipf: 1.0}}", number(1, 3), number(1, max_model_len));
  }
}

// `several`: requests may have several samples, which regions that grow and virtual memory do not hold.
// `states`: the model keeps recurrent states, whose blocks are larger than these few tokens. `replicas`: there are
// several, whose lookups no first run can tell.
void add_engine(Lines& out, const std::string& scheduler, std::int64_t max_model_len, bool prefix_cache_allowed,
                bool several, bool states, bool replicas) {
  const std::string strategy =
      scheduler == "vllm-v0" ? "paged"
      : several              ? one_of("paged", "paged", "contiguous", replicas ? "paged" : "none")
                : one_of("paged", "paged", "contiguous", "contiguous", "virtual", replicas ? "contiguous" : "none");
  const bool v0 = scheduler == "vllm-v0";
  const bool swap_allowed = !several && !(v0 && prefix_cache_allowed);
  const bool swap = swap_allowed && number(0, 2) > 0;
  const std::int64_t seats = number(1, 12);
  const bool chunked = number(0, 2) > 0;
  const std::int64_t block = v0 && prefix_cache_allowed ? 16 : 1;  // the largest: V0's cached prefill goes by blocks
  const std::int64_t least = std::max(seats, chunked ? block : max_model_len);
  out.add("engine:");
  out.add("  scheduler: {}", scheduler);
  out.add("  max_num_seqs: {}", seats);
  out.add("  max_num_batched_tokens: {}", least + number(0, 80));
  out.add("  max_model_len: {}", max_model_len);
  out.add("  enable_chunked_prefill: {}", chunked);
  out.add("  long_prefill_token_threshold: {}", *rc::gen::element(0, 0, 5, 17));
  out.add("  scheduler_reserve_full_isl: {}", number(0, 3) == 0);
  out.add("  async_scheduling: {}", number(0, 4) == 0);
  out.add("  queue_order: {}",
          scheduler == "vllm-v0" ? one_of("fcfs", "priority")
                                 : one_of("fcfs", "fcfs", "priority", "sjf", "srpt", "edf", "longest_prefix", "fair"));
  out.add("  router: {}", one_of("vllm", "round_robin", "least_outstanding"));
  out.add("  length_prediction_cv: {}", one_of("0", "0.7"));
  out.add("  deadline_per_priority: {}", one_of("0 s", "50 ms"));

  const std::int64_t block_size = *rc::gen::element(1, 3, 16);
  const std::int64_t longest = (max_model_len + block_size - 1) / block_size;  // blocks of the longest sequence
  const std::int64_t blocks = std::max<std::int64_t>(5, number(longest / 2, 3 * longest));
  out.add("kv_cache:");
  out.add("  strategy: {}", strategy);
  out.add("  block_size: {}", block_size);
  if (states || number(0, 1) == 0) {
    out.add("  budget: {} blocks", blocks);
  } else {
    out.add("  budget: {} tokens", blocks * block_size + number(0, block_size - 1));
  }
  out.add("  hybrid_kv_cache_manager: {}", one_of("on", "on", "off"));
  out.add("  reservation: {}", one_of("max_model_len", "max_tokens", "pow2", "oracle", several ? "pow2" : "grow",
                                      several ? "oracle" : "grow"));
  out.add("  placement: {}", one_of("buddy", "first_fit", "next_fit", "best_fit", "worst_fit"));
  out.add("  initial_tokens: {}", one_of("0", "1", "10", "128"));
  out.add("  compaction: {}", one_of("never", "on_failure", "0.2"));
  out.add("  page_size: {}", one_of("4 KiB", "12 KiB", "64 KiB"));
  out.add("  keep_pages: {}", number(0, 1) == 0);
  out.add("  map_cost: {}", one_of("auto", "0 ms", "1 us"));
  out.add("preemption:");
  out.add("  victim: {}", v0 ? "engine" : victim());
  const bool tail = strategy == "paged" && !v0 && swap_allowed && !prefix_cache_allowed && number(0, 2) == 0;
  out.add("  tail_blocks: {}", tail);
  if (swap) {
    out.add("  mode: {}", v0 ? "swap" : one_of("swap", "cheapest"));
    out.add("  swap_space: {}", one_of("4 GiB", "20 MiB", "0 B"));
    out.add("  overlap: {}", !v0 && !tail && !prefix_cache_allowed && number(0, 1) == 0);
  }
  const NameDocs evictions = kv::evictions();
  std::string eviction = scheduler == "vllm-v0" || number(0, 1) == 0
                             ? "lru"
                             : evictions[static_cast<std::size_t>(number(0, std::ssize(evictions) - 1))].name;
  if (replicas && eviction == "opt") eviction = "arc";
  const bool rules = scheduler != "vllm-v0" && eviction != "opt" && eviction != "ttl" && eviction != "queue_aware";
  out.add("prefix_cache:\n  enable: {}\n  eviction: {}\n  ttl: {}\n  admission: {}\n  pin: {}\n  quota: {}\n  salt: {}",
          prefix_cache_allowed ? one_of("auto", "true") : "false", eviction, one_of("300 s", "15 ms"),
          rules ? one_of("always", "always", "second_hit", "tinylfu") : "always",
          rules ? one_of("none", "none", "16 tokens") : "none", rules ? one_of("none", "none", "0.2", "1") : "none",
          one_of("none", "none", "tenant", "request"));
  if (rules && number(0, 2) == 0) {
    const auto write = [] { return one_of("write_through", "write_back", "on_eviction"); };
    out.add("  tiers:");
    out.add("    host: {{size: {}, eviction: {}, write: {}}}", one_of("20 MiB", "200 MiB", "4 GiB"),
            one_of("lru", "fifo", "sieve"), write());
    if (number(0, 2) == 0) {
      out.add("    nvme: {{size: {}, write: {}, bandwidth: {}}}", one_of("20 MiB", "2 GiB"), write(),
              one_of("7 GB/s", "50 MB/s"));
    }
    out.add("    load: {}", one_of("cheapest", "always"));
    out.add("    prefetch: {}", one_of("never", "on_arrival"));
  }
}

}  // namespace

RandomScenario random_scenario(Loop loop) {
  const std::int64_t max_model_len = number(4, 200);
  RandomScenario scenario;
  Lines out;
  out.add("name: random");
  out.add("seed: {}", number(0, 1'000'000));
  const std::int64_t model = number(0, 6);
  const std::int64_t replicas = *rc::gen::element(1, 1, 2, 4);
  const std::string links = fmt::format(
      "data_parallel_size: {}, links: {{host: {{bandwidth: {}, latency: {}, copy_overhead: {}, shared: {}}}}}",
      replicas, one_of("auto", "25 GB/s", "100 MB/s"), one_of("10 us", "0 s"), one_of("3 us", "0 s", "100 us"),
      one_of("false", "true"));
  const std::string scheduler =
      one_of("vllm-v1", "vllm-v1", "vllm-v1", "vllm-v0", "vllm-v0", "orca", "sarathi", "static");
  const bool prefix_cache_allowed = number(0, 1) == 0;
  // A client cannot wait for samples that are requests of their own.
  const bool several = number(0, 2) == 0 && (loop == Loop::open || scheduler != "vllm-v0");
  const bool beams = several && !prefix_cache_allowed && scheduler != "vllm-v0" && number(0, 1) == 0;
  const bool states = model == 5;
  switch (model) {
    case 0:
      out.add("model: llama-3-8b\nhardware: {{gpu: h100-80gb-sxm, {}}}", links);
      break;
    case 1:
      out.add("model: opt-13b\nhardware: {{gpu: a100-40gb-sxm, {}}}", links);
      break;
    case 2:
      out.add("model: mixtral-8x7b\nhardware: {{gpu: a100-80gb-sxm, tensor_parallel_size: 2, {}}}", links);
      break;
    case 3:
      out.add("model: qwen2.5-7b\nhardware: {{gpu: l40s, gpu_memory_utilization: 0.8, {}}}", links);
      break;
    case 4:
      out.add("model: gpt-oss-20b\nhardware: {{gpu: a100-80gb-sxm, {}}}", links);  // a window of 128 in half its layers
      break;
    case 5:
      out.add("model: qwen3.5-27b\nhardware: {{gpu: a100-80gb-sxm, {}}}", links);  // recurrent states
      break;
    default:
      out.add("model: llama-3-70b\nhardware: {{gpu: h200-141gb-sxm, tensor_parallel_size: 4, {}}}", links);
  }
  out.add("workload:");
  out.add("  max_tokens: {{rule: {}, value: 25, factor: 1.5}}",
          one_of("recorded", "recorded", "true_length", "constant", "factor", "model_limit"));
  if (several) {
    out.add("  decoding: {}\n  beam_switch: {}", beams ? "beam_search" : "sample", one_of("1", "0.3", "0"));
    out.add("  n: {}", one_of("recorded", "recorded", "1", "2", "5"));
  }
  const bool generated = number(0, 3) == 0;
  if (loop == Loop::closed) add_clients(out, generated);
  if (!generated) {
    scenario.trace = random_trace(max_model_len, several ? number(2, 6) : 1, loop);
    out.add("  trace: {{file: {}, rate_scale: {}}}", scenario.trace->path(),
            loop == Loop::closed ? "1" : one_of("1", "1", "0.7", "3"));
  } else {
    add_generated(out, max_model_len);
  }
  add_engine(out, scheduler, max_model_len, prefix_cache_allowed, several, states, replicas > 1);
  out.add("admission:");
  out.add("  max_queue: {}", one_of("unlimited", "unlimited", "unlimited", "1", "3", "8"));
  out.add("  watermark: {}", one_of("engine", "engine", "0.1", "1 blocks", "3 blocks"));
  out.add("  never_fits: {}", one_of("reject", "reject", "reject", "engine"));
  out.add("  over_length: {}", one_of("clip", "clip", "reject"));
  if (number(0, 5) == 0)
    out.add("  rate_limit: {{requests_per_s: 20, tokens_per_s: {}, burst: 0.3 s}}", number(1, 4000));
  out.add("  abandon_after: {}",
          one_of("never", "never", "never", "never", "never", "never", "1 ns", "10 ms", "35 ms", "0.4 s"));
  if (number(0, 1) == 0) {
    out.add("cost: {{model: fixed, step: {}}}", one_of("10 ms", "10 ms", "3 ns"));
  }
  out.add("slo: {{ttft: 100 ms, tpot: 20 ms{}}}",
          one_of("", ", classes: [{name: a, weight: 2, ttft: 30 ms}, {name: b, tenants: 1-2, tpot: 1 s}, {name: c}]"));
  // As fine as the steps, so that rows and ends of steps meet.
  out.add("output: {{timeseries_interval: {}}}", one_of("10 ms", "33 ms", "1 s"));
  scenario.yaml = out.text;
  return scenario;
}

}  // namespace blockyard::serving_tests
