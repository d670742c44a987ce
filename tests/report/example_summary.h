// A summary made by hand: numbers that obey the laws (requests, shares) and are easy to find again in a report.
#pragma once

#include "sim/metrics/summary.h"

namespace blockyard::report {

inline metrics::Summary example_summary() {
  metrics::Summary s;
  s.identity = {"chat-on-a100",
                7,
                "llama-3-8b",
                "a100-80gb-sxm",
                2,
                "",
                {"roofline, constants of a100-80gb-sxm: whole-layer times within 6 % (MAPE)"},
                {"trace: 3 rows of zero length dropped"}};
  s.arrived = 19'366;
  s.finished = 19'300;
  s.rejected = 41;
  s.rejected_by_reason = {0, 1, 0, 40, 0, 0, 0};
  s.timed_out = 5;
  s.unfinished = 20;
  s.prompt_tokens = 22'361'001;
  s.output_tokens = 4'087'100;
  s.computed_tokens = 26'440'000;
  s.recomputed_tokens = 12'345;
  s.prefix_cache = {420, 320, 20, 20};
  s.makespan_s = 3'512.25;
  s.steps = 181'233;
  s.admission = {19'300, 0.0123456, 0.0002, 0.0301, 0.25, 1.75};
  s.ttft = {19'300, 0.1875, 0.125, 0.375, 0.875, 2.5};
  s.tpot = {19'200, 0.025, 0.0245, 0.0312, 0.0455, 0.1};
  s.itl = {4'067'800, 0.02475, 0.024, 0.03, 0.05, 2.75};
  s.e2e = {19'300, 5.5, 4.25, 11.5, 19.75, 42};
  s.e2e_per_output_token = {19'300, 0.03, 0.0275, 0.045, 0.0725, 0.625};
  s.time.buckets[static_cast<std::size_t>(metrics::TimeBucket::queue_kv_memory_head)] = {1.1, 8.25, 0.2};
  s.time.buckets[static_cast<std::size_t>(metrics::TimeBucket::decode_own)] = {4.4, 15.5, 0.8};
  s.time.groups[0] = {1.1, 8.25, 0.2};
  s.time.groups[2] = {4.4, 15.5, 0.8};
  s.time.requests = s.finished;
  s.time_timed_out.requests = s.timed_out;
  s.time_timed_out.buckets[static_cast<std::size_t>(metrics::TimeBucket::step_boundary)] = {0.03, 0.0625, 0.001};
  s.time_timed_out.buckets[static_cast<std::size_t>(metrics::TimeBucket::queue_seat_behind)] = {29.97, 30, 0.999};
  s.time_timed_out.groups[0] = {29.97, 30, 0.999};
  s.requests_per_s = 5.495053;
  s.output_tokens_per_s = 1163.67;
  s.slo.ttft = SimTime(1'000'000'000);
  s.slo.tpot = SimTime(50'000'000);
  s.good_requests = 18'000;
  s.goodput_requests_per_s = 5.12492;
  s.misses = {{{{1'000, 800}, {500, 300}, {0, 0}}}, 66};
  s.preemptions = 12;
  s.preempted_requests = 8;
  s.total_stall_s = 3.5;
  s.stall = {8, 0.4375, 0.375, 0.75, 0.9375, 1.0};
  s.preemptions_by_swap = 2;
  s.stall_waiting_s = 1.25;
  s.stall_restoring_s = 2.25;
  s.each_stall = {10, 0.35, 0.25, 0.625, 0.75, 1.0};
  s.swap.by_cause[0] = {Blocks(4), Bytes(4'000), Blocks(3), Bytes(3'000)};
  s.swap.by_cause[1] = {Blocks(1), Bytes(1'000), Blocks(1), Bytes(1'000)};
  s.swap.host_capacity = Bytes(8'000);
  s.swap.host_live_mean_share = 0.125;
  s.swap.host_live_peak_share = 0.625;
  s.swap.out_busy = {0.25, 0.625};
  s.swap.in_busy = {0.1875, 0.5};
  s.swap.peak_interval_s = 1;
  s.swap.engine_waited_s = 0.4375;
  s.gap_threshold = SimTime(250'000'000);
  s.gaps_over_threshold = 17;
  s.capacity = Bytes(60LL << 30);
  s.memory = {{{0.5, 0.875}, {0, 0}, {0.015625, 0.03125}, {0, 0}, {0.0002, 0.001}, {0, 0}, {0, 0}, {0.484175, 1.0}}};
  s.largest_free_mean_share = 0.25;
  s.largest_free_min_share = 0.0625;
  s.refused_although_free = 1'234;
  s.mean_running = 30.25;
  s.max_running = 64;
  s.mean_waiting = 0.0678;
  s.max_waiting = 11;
  s.warnings = metrics::warnings_of(s);
  return s;
}

}  // namespace blockyard::report
