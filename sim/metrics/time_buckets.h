// The buckets that a request's time goes into; each nanosecond from its arrival to its end is in exactly one.
//   front_end      from the client until the engine has it: cost.front_end
//   step_boundary  until the first step that can see it is planned: it came while one ran (one step more under
//                  asynchronous scheduling)
//   queue_*        waiting for its first admission, by what kept the head of the line out in each step
//                  (base/queue_cause.h): as the head, or behind it, where the head's cause is charged, whatever would
//                  have kept this one out. token_budget are steps that were filled: by running requests, by prompts
//                  admitted in them, by those that come back after a preemption and are computed again
//   prefill_*      admitted, until its first token; decode_*: from then on. Of each step's time: own = the step with
//                  its chunk alone, or with the decodes alone (all of them: own includes batch-mates' decodes);
//                  overhead = the fixed part of a step; interference = the rest, which others' work has added
//   skipped        running, and given no token in a step
//   preempted_*    from a preemption until the computed length is regained, which is its stall: waiting = without a
//                  seat, or given no token; recompute = computing again what was lost; swap_out = its KV on the way to
//                  the host; swap_in = on the way back, and the rest of the step that it comes back with
//   tier_fetch     admitted, its KV on the way to the GPU from a tier below it (after a preemption:
//   preempted_recompute)
// Law: the sum over all buckets is the E2E, or the time until a client left, in integer nanoseconds. Source: snapshots
// of cumulative counters, as for the service time of a shared processor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/base/queue_cause.h"
#include "sim/metrics/quantiles.h"

namespace blockyard::metrics {

enum class TimeBucket : std::size_t {
  front_end,
  step_boundary,
  queue_seat_head,
  queue_seat_behind,
  queue_token_budget_head,
  queue_token_budget_behind,
  queue_kv_memory_head,
  queue_kv_memory_behind,
  prefill_own,
  prefill_interference,
  prefill_overhead,
  decode_own,
  decode_interference,
  decode_overhead,
  skipped,
  preempted_waiting,
  preempted_recompute,
  preempted_swap_out,
  preempted_swap_in,
  tier_fetch,
};
inline constexpr std::size_t kTimeBuckets = 20;
inline constexpr std::array<const char*, kTimeBuckets> kTimeBucketNames{"front_end",
                                                                        "step_boundary",
                                                                        "queue_seat_head",
                                                                        "queue_seat_behind",
                                                                        "queue_token_budget_head",
                                                                        "queue_token_budget_behind",
                                                                        "queue_kv_memory_head",
                                                                        "queue_kv_memory_behind",
                                                                        "prefill_own",
                                                                        "prefill_interference",
                                                                        "prefill_overhead",
                                                                        "decode_own",
                                                                        "decode_interference",
                                                                        "decode_overhead",
                                                                        "skipped",
                                                                        "preempted_waiting",
                                                                        "preempted_recompute",
                                                                        "preempted_swap_out",
                                                                        "preempted_swap_in",
                                                                        "tier_fetch"};

// The buckets of queue, prefill, decode and preempted together.
struct TimeGroup {
  const char* name;
  std::size_t first;
  std::size_t last;  // included
};
inline constexpr std::array<TimeGroup, 4> kTimeGroups{
    {{"queue", 2, 7}, {"prefill", 8, 10}, {"decode", 11, 13}, {"preempted", 15, 18}}};

// One request's time, in ns.
struct TimeRow {
  std::array<std::int64_t, kTimeBuckets> ns{};

  std::int64_t& operator[](TimeBucket bucket) { return ns[static_cast<std::size_t>(bucket)]; }
  std::int64_t operator[](TimeBucket bucket) const { return ns[static_cast<std::size_t>(bucket)]; }
  [[nodiscard]] std::int64_t sum(std::size_t first, std::size_t last) const {
    std::int64_t sum = 0;
    for (std::size_t i = first; i <= last; ++i) sum += ns[i];
    return sum;
  }
  [[nodiscard]] std::int64_t total() const { return sum(0, kTimeBuckets - 1); }
  [[nodiscard]] std::int64_t preempted() const { return sum(kTimeGroups[3].first, kTimeGroups[3].last); }
};

// What requests have spent in a bucket: those that were never in it count as 0.
struct TimeUse {
  Seconds mean_s = 0;
  Seconds p99_s = 0;  // within 0.05 %
  double share = 0;   // of all the time of all of them
};
struct TimeUses {
  std::int64_t requests = 0;
  std::array<TimeUse, kTimeBuckets> buckets;
  std::array<TimeUse, kTimeGroups.size()> groups;

  const TimeUse& operator[](TimeBucket bucket) const { return buckets[static_cast<std::size_t>(bucket)]; }
};

}  // namespace blockyard::metrics
