// What a run came to. Units stand in the names. Which requests enter which figure:
//   latencies      finished requests only, the clock starting at their arrival; ITL: every gap of every request
//   admission_s    first entry into the running batch - arrival
//   ttft_s         first output token - arrival
//   tpot_s         (last - first output token) / (outputs - 1), a mean a request; none for one-token outputs
//   e2e_per_output_token_s   e2e_s / outputs, what others call TPOT or normalised latency
//   itl_s          each gap between consecutive output tokens, pooled: long outputs weigh more than in tpot_s;
//                  quantiles within 0.05 %
//   e2e_s          last output token - arrival
//   throughput     finished requests, and all output tokens, over the makespan
//   goodput        finished requests that meet every limit given (of their class, where there are classes), over the
//   makespan; one-token outputs meet any tpot misses         finished requests beyond a limit (alone: beyond no other),
//   and those not finished time           where E2E went, bucket by bucket (time_buckets.h); the means add up to that
//   of e2e_s; and likewise
//                  where the time of timed-out requests went until their clients left
//   makespan_s     from the first arrival to the last event
//   stall_s        for each preempted request: from each preemption until its computed length was regained, summed
//                  waiting: without a seat; restoring: the rest, copied back or computed again
//   recomputed     positions computed again after a preemption; their share of all computed is the thrash gauge
//   shares         of the pool's capacity, time-weighted over the makespan; the means add up to 1
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/cache_ledger.h"
#include "sim/base/memory_states.h"
#include "sim/base/quantities.h"
#include "sim/metrics/group_figures.h"
#include "sim/metrics/quantiles.h"
#include "sim/metrics/record.h"
#include "sim/metrics/replica_state.h"
#include "sim/metrics/slo.h"
#include "sim/metrics/swap_use.h"
#include "sim/metrics/time_buckets.h"

namespace blockyard::metrics {

// What was run, and how far to trust it.
struct Identity {
  std::string scenario;
  std::uint64_t seed = 0;
  std::string model;
  std::string gpu;
  std::int64_t gpus = 1;
  std::string eviction;                 // of the prefix cache; "" without one
  std::vector<std::string> provenance;  // constants used, their source and error
  std::vector<std::string> notes;       // what a reader should know: rows dropped, keys unused, ...
};

struct MemoryShare {
  double mean_share = 0;
  double peak_share = 0;
};

// Tokens of admitted requests, once an admission: looked up in the prefix cache and found there; and how many of both
// by requests that resumed after a preemption, which mostly find their own blocks. All 0 without a prefix cache.
struct PrefixCacheUse {
  std::int64_t looked_up_tokens = 0;
  std::int64_t hit_tokens = 0;
  std::int64_t looked_up_tokens_resumed = 0;
  std::int64_t hit_tokens_resumed = 0;

  // Of first admissions: what prompts share. None if nothing was looked up.
  [[nodiscard]] std::optional<double> hit_ratio() const {
    const std::int64_t looked_up = looked_up_tokens - looked_up_tokens_resumed;
    if (looked_up == 0) return std::nullopt;
    return static_cast<double>(hit_tokens - hit_tokens_resumed) / static_cast<double>(looked_up);
  }
};

// What the prefix cache did; none without one.
struct PrefixCacheWork {
  CacheLedger ledger;
  // What the tokens found would have taken to compute, in full chunks of max_num_batched_tokens by themselves.
  Seconds saved_prefill_s = 0;
  // Beside a run of the same scenario with eviction opt: what that one found more. Negative where that run, with other
  // admissions, found less.
  struct Regret {
    std::int64_t hit_tokens = 0;
    Seconds saved_prefill_s = 0;
  };
  std::optional<Regret> regret = {};
  // Of the tiers below the GPU.
  Bytes block = {};  // KV of one, of the whole replica
  struct LinkUse {
    double out_busy_share = 0;  // of the makespan
    double in_busy_share = 0;
  };
  std::vector<LinkUse> tier_links = {};  // of each of ledger.tiers: of the host tier the host link

  [[nodiscard]] std::int64_t hit_tokens() const {
    std::int64_t sum = 0;
    for (const std::int64_t tokens : ledger.hit_tokens) sum += tokens;
    return sum;
  }
  [[nodiscard]] std::optional<double> requests_hit() const {
    if (ledger.requests == 0) return std::nullopt;
    return static_cast<double>(ledger.requests_hit) / static_cast<double>(ledger.requests);
  }
  [[nodiscard]] std::optional<double> stranded_share() const {
    if (ledger.known_blocks == 0) return std::nullopt;
    return static_cast<double>(ledger.stranded_blocks) / static_cast<double>(ledger.known_blocks);
  }
};

// The stages of a pipeline, while at least one batch is under way: stages x time = computing + sending + bubble, to the
// nanosecond.
struct PipelineUse {
  std::int64_t stages = 1;
  SimTime under_way;  // time with a batch under way
  SimTime computing;  // over all stages
  SimTime sending;    // likewise

  [[nodiscard]] SimTime bubble() const { return SimTime(stages * under_way.count()) - computing - sending; }
  // Of the stages' time; none if no batch has passed.
  [[nodiscard]] std::optional<double> share(SimTime part) const {
    if (under_way == SimTime(0)) return std::nullopt;
    return static_cast<double>(part.count()) / (static_cast<double>(stages) * static_cast<double>(under_way.count()));
  }
};

// What handing out memory has cost beside the requests' own work; 0 for strategies that never copy or map.
struct MemoryWork {
  Bytes copied;  // within the GPUs, by regions that grow or are compacted; read once and written once
  std::int64_t compactions = 0;
  std::int64_t pages_mapped = 0;  // of one GPU
  std::int64_t pages_unmapped = 0;
  SimTime time;  // by which it has made steps longer
  [[nodiscard]] bool any() const { return copied > Bytes(0) || compactions + pages_mapped + pages_unmapped > 0; }
};

// What statistics are of, if not of the whole run, in seconds since its first arrival. Latencies are of the requests
// that arrived in it, and so are preempted requests and goodput; tokens, steps, preemptions, rates and shares are of
// what happened in it. Counts of requests are of the whole run.
struct StatisticsWindow {
  Seconds from_s = 0;
  Seconds to_s = 0;
  std::int64_t arrived = 0;
  std::int64_t finished = 0;  // ended in it, whenever they arrived
};

struct Summary {
  Identity identity;
  std::optional<StatisticsWindow> window = {};  // warm-up and cool-down are left out of it
  bool interrupted = false;           // the run was stopped from outside: all figures are of what was done by then
  std::string stuck;                  // why the run could not go on, "" if it ended by itself
  std::vector<std::string> warnings;  // figures not to be trusted, and why

  std::int64_t arrived = 0;
  std::int64_t finished = 0;
  std::int64_t rejected = 0;
  std::array<std::int64_t, kRejectReasons> rejected_by_reason{};
  std::int64_t timed_out = 0;
  std::int64_t unfinished = 0;

  std::int64_t prompt_tokens = 0;  // of all arrived requests
  std::int64_t output_tokens = 0;  // generated
  std::int64_t computed_tokens = 0;
  std::int64_t recomputed_tokens = 0;

  PrefixCacheUse prefix_cache;
  std::optional<PrefixCacheWork> prefix_cache_work;

  Seconds makespan_s = 0;
  std::int64_t steps = 0;
  PipelineUse pipeline;

  Distribution admission;
  Distribution ttft;
  Distribution tpot;
  Distribution itl;
  Distribution e2e;
  Distribution e2e_per_output_token;

  TimeUses time;            // of finished requests
  TimeUses time_timed_out;  // of those whose clients left, until then

  double requests_per_s = 0;
  double output_tokens_per_s = 0;
  Slo slo;
  std::optional<std::int64_t> good_requests;  // none without any limit, of all or of a class
  std::optional<double> goodput_requests_per_s;
  std::optional<SloMisses> misses;
  std::vector<GroupFigures> slo_classes;  // none without classes
  TenantFigures tenants;                  // none if all requests are of one

  std::int64_t preemptions = 0;
  std::int64_t preempted_requests = 0;
  std::int64_t preemptions_by_swap = 0;  // the others by recompute
  Seconds total_stall_s = 0;             // = waiting + restoring
  Seconds stall_waiting_s = 0;
  Seconds stall_restoring_s = 0;
  Distribution stall;       // of preempted requests, all their stalls together
  Distribution each_stall;  // preempted again before it is over, it is one stall
  SwapUse swap;

  SimTime gap_threshold;  // gaps between output tokens longer than this are counted
  std::int64_t gaps_over_threshold = 0;

  Bytes capacity;  // usable KV memory of all replicas
  std::array<MemoryShare, kMemoryStates> memory{};
  double largest_free_mean_share = 0;
  double largest_free_min_share = 0;
  // Of the blocks that the samples or beams of requests would hold apart, the share that sharing saves, time-weighted:
  // integral of (unshared - held) / integral of unshared. None where nothing can be shared.
  std::optional<double> shared_blocks_saved;
  MemoryWork memory_work;
  std::int64_t refused_although_free = 0;  // admissions refused though enough memory was free, one a request and wait

  // Good requests among all that arrived; none without an slo.
  [[nodiscard]] std::optional<double> good_share() const {
    if (!good_requests) return std::nullopt;
    return share_of_arrived(*good_requests);
  }
  // None if none arrived.
  [[nodiscard]] std::optional<double> share_of_arrived(std::int64_t requests) const {
    const std::int64_t all = window ? window->arrived : arrived;
    if (all == 0) return std::nullopt;
    return static_cast<double>(requests) / static_cast<double>(all);
  }

  // Of the tokens computed, those computed again; none if nothing was computed.
  [[nodiscard]] std::optional<double> recomputed_share() const {
    if (computed_tokens == 0) return std::nullopt;
    return static_cast<double>(recomputed_tokens) / static_cast<double>(computed_tokens);
  }
  [[nodiscard]] std::optional<double> stalls_per_1000_output_tokens() const {
    if (output_tokens == 0) return std::nullopt;
    return 1000.0 * static_cast<double>(each_stall.count) / static_cast<double>(output_tokens);
  }

  std::vector<ReplicaFigures> replicas;  // none with a single one

  double mean_running = 0;
  std::int64_t max_running = 0;
  double mean_waiting = 0;
  std::int64_t max_waiting = 0;
};

// What the sizes of the samples say against the figures.
[[nodiscard]] std::vector<std::string> warnings_of(const Summary& summary);

}  // namespace blockyard::metrics
