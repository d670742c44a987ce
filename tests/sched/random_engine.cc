#include "tests/sched/random_engine.h"

#include <rapidcheck.h>

#include <algorithm>

#include "sim/sched/orca.h"
#include "sim/sched/sarathi.h"
#include "sim/sched/static_batching.h"
#include "sim/sched/vllm_v1.h"

namespace blockyard::sched_tests {

using namespace blockyard::sched;

namespace {

std::unique_ptr<kv::Allocator> made(const Scenario& scenario) {
  kv::MemoryOptions options = scenario.memory;
  options.capacity = scenario.capacity;
  options.block_size = scenario.block_size;
  options.max_model_len = scenario.max_model_len;
  options.reservation = scenario.reservation;
  options.placement = scenario.placement;
  return kv::make_allocator(scenario.strategy, options);
}

}  // namespace

Scenario random_scenario() {
  Scenario s;
  s.scheduler = *rc::gen::elementOf(std::vector<std::string>{"vllm-v1", "vllm-v1", "orca", "sarathi", "static"});
  s.strategy = *rc::gen::elementOf(
      std::vector<std::string>{"paged", "paged", "paged", "contiguous", "contiguous", "virtual", "none"});
  s.placement =
      *rc::gen::elementOf(std::vector<std::string>{"buddy", "first_fit", "next_fit", "best_fit", "worst_fit"});
  s.reservation =
      *rc::gen::elementOf(std::vector<std::string>{"max_model_len", "pow2", "oracle", "grow", "grow", "grow"});
  s.memory.initial_tokens = Tokens(*rc::gen::element(0, 1, 5));
  s.memory.compaction.on_failure = *rc::gen::arbitrary<bool>();
  s.memory.compaction.threshold = *rc::gen::element(0.2, 1.0);
  s.memory.pages = *rc::gen::inRange<std::int64_t>(20, 300);
  s.memory.page_geometry = kv::PageGeometry(Bytes(64), {{*rc::gen::element(16, 20), 2}});
  s.memory.keep_pages = *rc::gen::arbitrary<bool>();
  const bool hybrid = *rc::gen::inRange(0, 3) == 0;
  s.memory.longest_chunk = Tokens(1'000'000);
  s.queue_order =
      *rc::gen::elementOf(std::vector<std::string>{"fcfs", "fcfs", "priority", "sjf", "srpt", "edf", "fair"});
  s.block_size = Tokens(*rc::gen::element(1, 3, 4, 16));
  if (hybrid) {
    s.memory.tables = {{Tokens(0), 1, s.block_size, 1}, {Tokens(*rc::gen::inRange(1, 40)), 1, s.block_size, 1}};
    if (*rc::gen::arbitrary<bool>()) s.memory.tables.push_back({Tokens(0), 1, Tokens(0), 1});
    s.memory.block_pieces = s.block_size.count();
  }
  s.max_model_len = Tokens(*rc::gen::inRange(16, 80));
  s.capacity = s.block_size * *rc::gen::inRange<std::int64_t>((s.max_model_len.count() + 15) / s.block_size.count() + 1,
                                                              400 / s.block_size.count() + 30);
  s.max_num_seqs = *rc::gen::inRange(1, 12);
  s.threshold = Tokens(*rc::gen::element(0, 0, 5, 17));
  s.chunked = *rc::gen::arbitrary<bool>();
  const std::int64_t least = s.chunked ? s.max_num_seqs : std::max(s.max_num_seqs, s.max_model_len.count());
  s.budget = Tokens(*rc::gen::inRange<std::int64_t>(least, least + 60));
  s.watermark = *rc::gen::element(0, 0, 1);
  std::vector<std::string> names(4, "engine");
  for (const NameDoc& victim : victims()) names.push_back(victim.name);
  s.victim = *rc::gen::elementOf(names);
  s.mode = *rc::gen::elementOf(std::vector<std::string>{"recompute", "swap", "swap", "cheapest"});
  s.host_blocks = Blocks(*rc::gen::element(0, 3, 20, 1000));
  s.overlap = *rc::gen::arbitrary<bool>();
  s.tail_blocks = s.strategy == "paged" && *rc::gen::arbitrary<bool>();
  if (s.tail_blocks) s.overlap = false;
  if (s.mode != "recompute" || s.tail_blocks) s.memory.tables.clear();
  const int n = *rc::gen::inRange(1, 40);
  std::int64_t step = 0;
  for (int i = 0; i < n; ++i) {
    step += *rc::gen::element(0, 0, 0, 1, 2, 7);
    workload::Request r;
    r.arrival = SimTime(step);
    r.prompt_tokens = Tokens(*rc::gen::inRange<std::int64_t>(1, s.max_model_len.count()));
    r.output_tokens = Tokens(*rc::gen::inRange(1, 40));
    r.max_tokens = r.output_tokens + Tokens(*rc::gen::element(0, 0, 9));
    r.priority = *rc::gen::inRange(0, 3);
    r.tenant = *rc::gen::inRange(0U, 3U);
    s.requests.emplace_back(step, r);
  }
  return s;
}

Engine::Engine(const Scenario& scenario, bool fast_forward, std::int64_t batches_under_way) : memory(made(scenario)) {
  RunningFirstOptions options;
  options.max_num_seqs = scenario.max_num_seqs;
  options.max_num_batched_tokens = scenario.budget;
  options.max_model_len = scenario.max_model_len;
  options.long_prefill_token_threshold = scenario.threshold;
  options.chunked_prefill = scenario.chunked;
  options.queue_order = scenario.queue_order;
  options.watermark_grains = scenario.strategy == "paged" ? scenario.watermark : 0;
  options.fast_forward = fast_forward;
  options.batches_under_way = batches_under_way;
  options.victim = scenario.victim;
  if (scenario.tail_blocks) options.tail_blocks = scenario.block_size;
  watermark = options.watermark_grains;
  options.queue.prediction_cv = 0.5;
  options.queue.seed = 7;
  options.queue.deadline = SimTime(30);
  options.queue.deadline_per_priority = SimTime(100);
  Restoring restoring{&restore_cost, nullptr};
  if (scenario.mode != "recompute") {
    const bool paged = scenario.strategy == "paged";
    const HostSwapOptions host{scenario.mode, scenario.host_blocks, paged ? scenario.block_size : Tokens(1), !paged,
                               scenario.overlap};
    restoring.host = std::make_unique<HostSwap>(host, link, restore_cost);
  }
  const auto make = scenario.scheduler == "orca"      ? make_orca
                    : scenario.scheduler == "sarathi" ? make_sarathi
                    : scenario.scheduler == "static"  ? make_static
                                                      : make_vllm_v1;
  scheduler = make(options, *memory, std::move(restoring));
  scheduler->name_beneficiaries();
}

}  // namespace blockyard::sched_tests
