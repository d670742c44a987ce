// What the figures mean, in the words of sim/metrics/summary.h, for the foot of a screen.
#pragma once

#include <array>
#include <string>

#include "sim/metrics/summary.h"

namespace blockyard::report {

inline constexpr const char* kLatencyDefinition =
    "latencies of finished requests: admission = first entry into the batch - arrival; TTFT = first output token - "
    "arrival; TPOT = (last - first output token) / (outputs - 1), none for one-token outputs; E2E = last output token "
    "- arrival; E2E/token = E2E / outputs. ITL: every gap between consecutive output tokens of all requests, pooled; "
    "its quantiles are within 0.05 %, the others exact (linear between order statistics).";
inline constexpr const char* kThroughputDefinition =
    "throughput: finished requests, and all output tokens, over the makespan (first arrival to last event). goodput: "
    "finished requests that meet every limit; one-token outputs meet any TPOT. misses: finished requests beyond a "
    "limit (alone: beyond no other), and those not finished.";
inline constexpr const char* kStallDefinition =
    "stall: from each preemption until the computed length is regained, summed over a preempted request's life. "
    "waiting: without a seat; restoring: the rest, copied back or computed again.";
inline constexpr const char* kTimeDefinition =
    "where time went: of finished requests; the means add up to that of E2E. queue: not admitted, by what kept the "
    "head of the line out "
    "in each step: no seat; a full token budget (of running requests, of prompts, of what is computed again after a "
    "preemption); no KV memory. head: as the head itself; behind: behind it, charged with the head's cause, whatever "
    "would have kept this one out. prefill until the first token, decode after it, each split into own (the step "
    "without others' work; batch-mates' decodes count as own), overhead of a step and interference; skipped: running, "
    "without a token in a step; preempted: stalls.";
inline constexpr const char* kMemoryDefinition =
    "shares of the KV pool, means weighted by time. live: tokens with an owner; cached: known content, no owner; "
    "reserved: held for tokens the request will write; over_reserved: held beyond its true end; tail: unfilled slots "
    "of the last block; padding: rounding of the placement; external: free, but in pieces too small for the head of "
    "the queue; free: the rest. Largest free region: what one request could get; it counts cached blocks, which make "
    "room.";
inline constexpr const char* kRefusedDefinition =
    "refused although free: requests that were not admitted at once although as much memory was free as they needed: "
    "no "
    "one region of it was large enough";
// As they are called on screens, in the order of metrics::kSloLimitNames.
inline constexpr std::array<const char*, metrics::kSloLimitNames.size()> kSloLimitLabels{"TTFT", "TPOT", "E2E"};

// "TTFT <= 1 s, TPOT <= 50 ms"
[[nodiscard]] std::string slo_text(const metrics::Slo& slo);
// "TTFT 1,000 (800 alone), TPOT 500 (300 alone); 66 not finished"
[[nodiscard]] std::string misses_text(const metrics::Slo& slo, const metrics::SloMisses& misses);

// What must be known before any figure is read: an early end, or why the run could not go on. "" otherwise.
[[nodiscard]] std::string marks_text(const metrics::Summary& summary);

}  // namespace blockyard::report
